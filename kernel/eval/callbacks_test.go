package eval_test

import (
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// TestPanicReachesCaller: a panic in a function of a cell reaches the recover of whoever has called it, a library on a goroutine of its own
// too, as in a program.
func TestPanicReachesCaller(t *testing.T) {
	longCompiled(t)
	const from = "func memory() *stream.MemorySource { return stream.Memory(\"m\", [][]stream.Record{{{Value: []byte(`{\"id\":1}`)}, {Value: []byte(`{\"id\":2}`)}}}) }\n" +
		"func bad(q *stream.Query) string {\n\tr := must(q.Start(context.Background()))\n\terr := r.Wait(context.Background())\n" +
		"\tp := \"\"\n\tfor _, b := range r.BadRecords().Newest { p += b.Reason + \"; \" }\n\treturn fmt.Sprint(err, \" \", r.Totals().Bad, \" \", r.Results().Len(), \" \", p)\n}"
	n := newNotebook(t)
	n.ok("import (\"cancha/stream\"; \"cancha/runtime/table\"; \"net/http/httptest\")\n" + from)
	tests := []struct{ name, declare, code, want string }{
		{"MapFunc", "func double(r stream.Row) (any, error) { return r.Float(\"amount\") * 2, nil }", `bad(stream.From(memory()).MapFunc("x", double, "id").Select("id", "x"))`,
			"<nil> 2 0 x: panic: stream: the row has no \"amount\""},
		{"FilterFunc", "func keeps(r stream.Row) (bool, error) { var m map[string]int; m[\"a\"] = 1; return true, nil }", `bad(stream.From(memory()).FilterFunc("x", keeps, "id").Select("id"))`,
			"<nil> 2 0 x: panic: assignment to entry in nil map"},
		{"literal", "func lit(n int) func(stream.Row) (any, error) { return func(stream.Row) (any, error) { panic(fmt.Sprint(\"boom \", n)) } }", `bad(stream.From(memory()).MapFunc("x", lit(7), "id").Select("id", "x"))`,
			"<nil> 2 0 x: panic: boom 7"},
		{"method value", "type mapper struct{ n int }\nfunc (m mapper) run(stream.Row) (any, error) { panic(m.n) }", `bad(stream.From(memory()).MapFunc("x", mapper{5}.run, "id").Select("id", "x"))`,
			"<nil> 2 0 x: panic: 5"},
		{"generic function", "func gen[T any](stream.Row) (any, error) { var t T; panic(fmt.Sprintf(\"no %T\", t)) }", `bad(stream.From(memory()).MapFunc("x", gen[string], "id").Select("id", "x"))`,
			"<nil> 2 0 x: panic: no string"},
		{"process", "var proc = stream.Processing{Name: \"p\", Keys: []string{\"id\"}, Fields: []string{\"id\"}, Columns: []stream.Column{{Name: \"n\"}}, TimeToLive: time.Hour,\n" +
			"\tState: func() any { return new(int) }, Row: func(c *stream.Context, s any, r stream.Row) error { panic(\"in row\") }}", `bad(stream.From(memory()).Process(proc))`, "process p: panic: in row"},
		{"custom panic value", "type odd struct{ n int }\nfunc oddly(stream.Row) (any, error) { panic(odd{3}) }", `bad(stream.From(memory()).MapFunc("x", oddly, "id").Select("id", "x"))`, "<nil> 2 0 x: panic: {3}"},
		{"panics again", "func again(stream.Row) (v any, err error) { defer func() { p := recover(); panic(fmt.Sprint(p, \" again\")) }(); panic(\"first\") }",
			`bad(stream.From(memory()).MapFunc("x", again, "id").Select("id", "x"))`, "<nil> 2 0 x: panic: first again"},
		{"recovers itself", "func safe(stream.Row) (v any, err error) { defer func() { if p := recover(); p != nil { v = 9 } }(); panic(\"first\") }",
			`bad(stream.From(memory()).MapFunc("x", safe, "id").Select("id", "x"))`, "<nil> 0 2 "},
		{"Goexit", "func leaves(stream.Row) (any, error) { runtime.Goexit(); return 1, nil }", `bad(stream.From(memory()).MapFunc("x", leaves, "id").Select("id", "x"))`, "map x: runtime.Goexit was called"},
		{"table", "func rows(t *table.Table) (s string) { defer func() { s = fmt.Sprint(recover()) }(); t.Filter(func(int) bool { panic(\"row\") }); return \"\" }",
			`func() string { t := must(table.Of([]struct{ A int }{{1}})); return rows(t) }()`, "row"},
		{"sort", "func sorted() (s string) { defer func() { s = fmt.Sprint(recover()) }(); xs := []int{2, 1}; slices.SortFunc(xs, func(a, b int) int { panic(\"cmp\") }); return \"\" }", "sorted()", "cmp"},
		{"once", "func onced() (s string) { defer func() { s = fmt.Sprint(recover()) }(); sync.OnceFunc(func() { panic(\"once\") })(); return \"\" }", "onced()", "once"},
		{"json", "type badly struct{}\nfunc (badly) MarshalJSON() ([]byte, error) { panic(\"json\") }\nfunc marshal() (s string) { defer func() { s = fmt.Sprint(recover()) }(); json.Marshal(badly{}); return \"\" }", "marshal()", "json"},
		{"handler", "func serve() string {\n\tsrv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(\"handler\") }))\n\tvar b strings.Builder\n\tsrv.Config.ErrorLog = log.New(&b, \"\", 0)\n" +
			"\tsrv.Start()\n\t_, err := http.Get(srv.URL)\n\tsrv.Close()\n\treturn fmt.Sprint(err != nil, \" \", strings.Contains(b.String(), \"handler\"))\n}", "serve()", "true true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			n.ok(tt.declare)
			before := len(n.stream("stdout"))
			n.ok("fmt.Println(" + tt.code + ")")
			if got := n.stream("stdout")[before:]; !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
	n.t = t
	if got := n.stream("stderr"); strings.Contains(got, "panic in goroutine") {
		t.Errorf("a panic was reported that the library recovers: %s", got)
	}
}

// TestPanicHasPlace: the reason of a bad record names the function and the line.
func TestPanicHasPlace(t *testing.T) {
	n := newNotebook(t)
	n.ok("import \"cancha/stream\"\nfunc double(r stream.Row) (any, error) {\n\treturn r.Float(\"amount\") * 2, nil\n}")
	n.ok("r := must(stream.From(stream.Memory(\"m\", [][]stream.Record{{{Value: []byte(`{\"id\":1}`)}}})).MapFunc(\"x\", double, \"id\").Select(\"id\", \"x\").Start(context.Background()))\n" +
		"r.Wait(context.Background())\nfor _, b := range r.BadRecords().Newest { fmt.Println(b.Reason) }")
	if got, want := n.stream("stdout"), "in double, cell 1:3"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// TestEndlessCallback: a cell that waits for a query with a function that never returns can be interrupted, and the query be stopped: also
// where that is a method of a cell's own type, which the library calls by an interface.
func TestEndlessCallback(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	const memory = "stream.Memory(\"m\", [][]stream.Record{{{Value: []byte(`{\"id\":1}`)}}})"
	for _, tt := range []struct{ name, declare, query string }{
		{"function", "func forever(r stream.Row) (any, error) { loop(); return nil, nil }", `stream.From(` + memory + `).MapFunc("x", forever, "id").Select("id", "x")`},
		{"source", "type endless struct{}\nfunc (endless) Run(context.Context, stream.Handler) error { loop(); return nil }\nfunc (endless) Description() string { return \"endless\" }", `stream.From(endless{}).Select("id")`},
		{"sink", "type full struct{}\nfunc (full) Write(context.Context, int64, *stream.Rows) error { loop(); return nil }", `stream.From(` + memory + `).Select("id").To(full{})`},
		{"engine", "type engine struct{}\nfunc (engine) Start(context.Context, stream.Job) (stream.Remote, error) { return far{}, nil }\nfunc (engine) String() string { return \"far\" }\n" +
			"type far struct{}\nfunc (far) Run(context.Context, stream.Receiver) error { loop(); return nil }\nfunc (far) Stop(context.Context) error { return nil }", `stream.From(` + memory + `).Select("id").On(engine{})`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			n.ok("import \"cancha/stream\"\nvar began atomic.Bool\nfunc loop() { began.Store(true); for { } }", tt.declare,
				"ctx, cancel := context.WithCancel(context.Background())\nr := must("+tt.query+".Start(ctx))")
			r, took := n.interrupt("for !began.Load() { runtime.Gosched() }\nfmt.Println(\"go\")\nr.Wait(context.Background())")
			if r.Status != cell.Failed || r.Err.Name != "interrupted" || took > time.Minute {
				t.Fatalf("got %+v after %v", r, took)
			}
			n.within(time.Minute, "cancel()\nfmt.Println(r.Wait(context.Background()))")
			if got := lastLine(n.stream("stdout")); !strings.Contains(got, "canceled") && !strings.Contains(got, "interrupted") {
				t.Errorf("got %q", got)
			}
		})
	}
}
