package eval_test

import "strings"

// faultPlace is a place that takes a function, or a value with methods, and a cell that hands it one which goes wrong.
type faultPlace struct {
	name string
	code string // declares place, which calls it; or what last and message use
	faultOptions
}

type faultOptions struct {
	query   bool           // it belongs to a query, which ends too
	last    string         // the cell, in the place of a call of place
	message string         // what a front end sends to the comm that the code has opened; N is another number each time
	asInGo  map[int]string // faults that end as in a program, without an error: what is told then, which may be nothing
	why     string

	compiled string         // why cells that are interpreted cannot have it, which is an error or is told; empty: they can
	not      map[int]string // faults that are not tried, and why
}

const faultHelpers = `import (
	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/runtime/table"
	"cancha/runtime/session"
	"cancha/runtime/session/conf"
	"cancha/runtime/live"
	"cancha/runtime/live/comm"
	"cancha/runtime/live/widget"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/compare"
	"cancha/ml"
	"cancha/ml/calibrate"
	"cancha/ml/forest"
	"cancha/ml/inspect"
	"cancha/ml/lwp"
	"cancha/ml/nn"
	"math/rand/v2"
	"cancha/jobs"
	"cancha/statsbomb"
	"cancha/statsbomb/fetch"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/statsbomb/streaming"
	"net/http/httptest"
	"image"
	"image/color"
)
var kind atomic.Int32
var keep = 1
func fault() {
	switch kind.Load() {
	case 1:
		panic("boom")
	case 2:
		runtime.Goexit()
	case 3:
		fmt.Println("go")
		for {
		}
	case 4:
		os.Exit(7)
	}
}
var query *stream.Running
var ctx, cancel = context.WithCancel(context.Background())
func told(v any, err error) { fmt.Println("ended:", err) }
func run(q *stream.Query) {
	query = nil
	ctx, cancel = context.WithCancel(context.Background())
	r, err := q.Start(ctx)
	if err != nil {
		told(nil, err)
		return
	}
	query = r
	err = r.Wait(context.Background())
	p := ""
	for _, b := range r.BadRecords().Newest {
		p += b.Reason
	}
	fmt.Println("ended:", err, p)
}
func memory() *stream.MemorySource {
	records := make([]stream.Record, 20)
	for i := range records {
		records[i] = stream.Record{Value: fmt.Appendf(nil, "{\"id\":%d,\"k\":\"a\",\"at\":%d}", i, i), Offset: int64(i)}
	}
	return stream.Memory("numbers", [][]stream.Record{records})
}
func from() *stream.Query { return stream.From(memory()).EventTime(stream.Field("at").UnixSeconds()).Watermark(time.Second) }
func data() *ml.Dataset {
	rows := make([][]float64, 40)
	d := &ml.Dataset{}
	for i := range rows {
		rows[i] = []float64{float64(i % 7), float64(i % 5)}
	}
	d = must(ml.FromRows([]string{"a", "b"}, rows))
	d.Classes = []string{"no", "yes"}
	for i := range rows {
		d.Labels = append(d.Labels, i%2)
		d.Targets = append(d.Targets, float64(i))
	}
	return d
}
func folds() []ml.Split { return must(ml.StratifiedKFold(data(), 2, 1)) }
type wildModel struct{ in string }
func (m wildModel) at(in string) { if m.in == in { fault() } }
func (m wildModel) Score(ctx context.Context, d *ml.Dataset) (float64, error) { m.at("Score"); return 1, nil }
func (m wildModel) Save(string) error { m.at("Save"); return nil }
func (m wildModel) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) { m.at("Predict"); return make([]int, d.Rows()), nil }
func (m wildModel) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	m.at("PredictProba")
	p := make([][]float64, d.Rows())
	for i := range p { p[i] = []float64{0.5, 0.5} }
	return p, nil
}
type wildNumbers struct{ wildModel }
func (m wildNumbers) Predict(ctx context.Context, d *ml.Dataset) ([]float64, error) { fault(); return make([]float64, d.Rows()), nil }
func learn(ctx context.Context, train *ml.Dataset) (ml.Model, error) { fault(); return wildModel{}, nil }
func learned(in string) ml.Learner { return func(context.Context, *ml.Dataset) (ml.Model, error) { return wildModel{in}, nil } }
func settle(ctx context.Context, train *ml.Dataset, settings any) (ml.Model, error) { fault(); return wildModel{}, nil }
func settled(ctx context.Context, train *ml.Dataset, settings any) (ml.Model, error) { return wildModel{}, nil }
func progress(done, total int) { fault() }
type wildScorer struct{}
func (wildScorer) Name() string { return "wild" }
func (wildScorer) Score(context.Context, ml.Model, *ml.Dataset) (float64, error) { fault(); return 1, nil }
type wildIO struct{}
func (wildIO) Read([]byte) (int, error) { fault(); return 0, io.EOF }
func (wildIO) Write(b []byte) (int, error) { fault(); return len(b), nil }
func matches(count int) statsbomb.Archive { return simulate.New(simulate.Config{Seed: 1, Matches: count, Teams: 4}) }
type wildArchive struct {
	statsbomb.Archive
	in string
}
func (a wildArchive) Events(id int64) ([]statsbomb.Event, error) { if a.in == "Events" { fault() }; return a.Archive.Events(id) }
func (a wildArchive) Matches() []statsbomb.Match { if a.in == "Matches" { fault() }; return a.Archive.Matches() }
var loaded = sync.OnceValue(func() *lwp.Matches { return must(lwp.Load(context.Background(), matches(12), nil)) })
`

// faultPlaces are those of the library, and some of the standard library that cells use most.
func faultPlaces() []faultPlace {
	none := faultOptions{}
	query := faultOptions{query: true}
	var all []faultPlace
	const optional = "an interpreted type has the methods of the interface that it is handed over as, and no others"
	const generic = "the interpreter refuses generic functions of compiled packages"
	add := func(name, code string, o faultOptions) { all = append(all, faultPlace{name, code, o}) }
	call := func(name, expr string) { // expr returns a value and an error
		add(name, "func place() { told("+expr+") }", none)
	}
	void := func(name, stmt string) { add(name, "func place() { "+stmt+"; fmt.Println(\"returned\") }", none) }
	streams := func(name, before, expr string) { add(name, before+"\nfunc place() { run("+expr+") }", query) }

	streams("stream.Query.MapFunc", "", `from().MapFunc("x", func(stream.Row) (any, error) { fault(); return 1, nil }, "id").Select("id", "x")`)
	streams("stream.Query.FilterFunc", "", `from().FilterFunc("x", func(stream.Row) (bool, error) { fault(); return true, nil }, "id").Select("id")`)
	streams("stream.Generate", "", `stream.From(stream.Generate("g", 2, 0, func(int, int64) stream.Record { fault(); return stream.Record{Value: []byte("{\"id\":1}")} }).Records(10)).Select("id")`)
	streams("stream.SinkFunc", "", `from().Select("id").To(stream.SinkFunc(func(int64, *stream.Rows) error { fault(); return nil }))`)
	for _, in := range []string{"State", "Row", "Timer"} {
		streams("stream.Processing."+in, "func at"+in+"(in string) { if in == \""+in+"\" { fault() } }",
			`from().Process(stream.Processing{Name: "p", Keys: []string{"k"}, Fields: []string{"id"}, Columns: []stream.Column{{Name: "n"}}, TimeToLive: time.Hour,
	State: func() any { at`+in+`("State"); return new(int) }, Row: func(c *stream.Context, s any, r stream.Row) error { at`+in+`("Row"); c.SetTimer(c.Time()); return nil },
	Timer: func(*stream.Context, any, time.Time) error { at`+in+`("Timer"); return nil }})`)
	}
	streams("stream.From(source) Run", "type wildSource struct{ inner *stream.MemorySource }\nfunc (s wildSource) Run(ctx context.Context, h stream.Handler) error { fault(); return s.inner.Run(ctx, h) }\n"+
		"func (wildSource) Description() string { return \"wild\" }",
		`stream.From(wildSource{memory()}).Select("id")`)
	streams("stream.From(source) Description", "type namedSource struct{ inner *stream.MemorySource }\nfunc (s namedSource) Run(ctx context.Context, h stream.Handler) error { return s.inner.Run(ctx, h) }\n"+
		"func (namedSource) Description() string { fault(); return \"named\" }",
		`stream.From(namedSource{memory()}).Select("id")`)
	all[len(all)-1].asInGo, all[len(all)-1].why = map[int]string{aPanic: "", aGoexit: ""}, "the query goes on, and the source is named by its type"
	streams("stream.Query.To(sink) Write", "type wildSink struct{}\nfunc (wildSink) Write(context.Context, int64, *stream.Rows) error { fault(); return nil }", `from().Select("id").To(wildSink{})`)
	only := func(why string) { all[len(all)-1].compiled = why } // the place before
	streams("stream.Query.To(sink) Close", "type closingSink struct{}\nfunc (closingSink) Write(context.Context, int64, *stream.Rows) error { return nil }\nfunc (closingSink) Close() error { fault(); return nil }",
		`from().Select("id").To(closingSink{})`)
	only(optional)
	streams("stream.Query.To(sink) Open", "type openingSink struct{}\nfunc (openingSink) Write(context.Context, int64, *stream.Rows) error { return nil }\nfunc (openingSink) Open(context.Context, []stream.Column) error { fault(); return nil }",
		`from().Select("id").To(openingSink{})`)
	only(optional)
	streams("stream.Query.DeadLetters(sink)", "type deadSink struct{}\nfunc (deadSink) Write(context.Context, int64, *stream.Rows) error { fault(); return nil }",
		`stream.From(stream.Memory("m", [][]stream.Record{{{Value: []byte("no json")}}})).Select("id").DeadLetters(deadSink{})`)
	streams("stream.Query.Format Decoder", "type wildFormat struct{ stream.Format }\nfunc (f wildFormat) Decoder(s []stream.Slot) (stream.Decoder, error) { fault(); return f.Format.Decoder(s) }",
		`from().Format(wildFormat{stream.JSONFormat()}).Select("id")`)
	streams("stream.Query.Format Decode", "type wildDecoder struct{ stream.Decoder }\nfunc (d wildDecoder) Decode(b []byte, row []stream.Value) string { fault(); return d.Decoder.Decode(b, row) }\n"+
		"type decodingFormat struct{ stream.Format }\nfunc (f decodingFormat) Decoder(s []stream.Slot) (stream.Decoder, error) { d, err := f.Format.Decoder(s); return wildDecoder{d}, err }",
		`from().Format(decodingFormat{stream.JSONFormat()}).Select("id")`)
	streams("stream.RecordProcessing.New", "", `stream.From(memory()).ProcessRecords(stream.RecordProcessing{Name: "p", Columns: []stream.Column{{Name: "n"}}, New: func() stream.RecordHandler { fault(); return nil }})`)
	for _, in := range []string{"Record", "Flush"} {
		h := "handler" + in
		streams("stream.RecordHandler."+in, "type "+h+" struct{}\nfunc ("+h+") at(in string) { if in == \""+in+"\" { fault() } }\nfunc (h "+h+") Record(context.Context, *stream.Record) (t time.Time, reason string) { h.at(\"Record\"); return time.Unix(1, 0), \"\" }\n"+
			"func (h "+h+") Flush(context.Context, func(time.Time, ...stream.Value) error) error { h.at(\"Flush\"); return nil }",
			`stream.From(memory()).ProcessRecords(stream.RecordProcessing{Name: "p", Columns: []stream.Column{{Name: "n"}}, New: func() stream.RecordHandler { return `+h+`{} }})`)
	}
	streams("stream.Query.Checkpoint(place)", "type wildPlace struct{ checkpoint.Place }\nfunc (p wildPlace) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error { fault(); return p.Place.Write(ctx, unit, epoch, pieces) }",
		`from().Select("id").Checkpoint(wildPlace{checkpoint.Folder(must(os.MkdirTemp("", "faults")))})`)
	streams("stream.Query.On(engine)", "type wildEngine struct{}\nfunc (wildEngine) Start(context.Context, stream.Job) (stream.Remote, error) { fault(); return nil, errors.New(\"none\") }\nfunc (wildEngine) String() string { return \"wild\" }",
		`from().Select("id").On(wildEngine{})`)
	streams("stream.Remote.Run", "type remoteEngine struct{}\nfunc (remoteEngine) Start(context.Context, stream.Job) (stream.Remote, error) { return wildRemote{}, nil }\nfunc (remoteEngine) String() string { return \"wild\" }\n"+
		"type wildRemote struct{}\nfunc (wildRemote) Run(context.Context, stream.Receiver) error { fault(); return nil }\nfunc (wildRemote) Stop(context.Context) error { return nil }", `from().Select("id").On(remoteEngine{})`)
	streams("streaming.NewBoard(scorer)", "type boardScorer struct{}\nfunc (boardScorer) Classes() []string { return []string{\"home\", \"draw\", \"away\"} }\n"+
		"func (boardScorer) Score(ctx context.Context, e []statsbomb.MatchEvent, p [][]float64) error { fault(); for i := range p { p[i][0] = 1 }; return nil }\n"+
		"func played() *stream.MemorySource {\n\tvar out eventsOf\n\tmust(0, replay.Run(context.Background(), matches(2), &out, replay.Config{Matches: 1, Partitions: 1, PartitionOf: func([]byte) int { return 0 }}, nil))\n\treturn stream.Memory(\"m\", [][]stream.Record{out.records[:50]})\n}\n"+
		"type eventsOf struct{ records []stream.Record }\nfunc (o *eventsOf) Send(ctx context.Context, key, value []byte) error { o.records = append(o.records, stream.Record{Key: key, Value: value, Offset: int64(len(o.records))}); return nil }\nfunc (o *eventsOf) Flush(context.Context) error { return nil }",
		`streaming.Score(played(), must(streaming.NewBoard(boardScorer{}, 0)))`)
	void("stream.Rows.Filter", `r := must(from().Select("id").Start(session.Context())); r.Wait(session.Context()); r.Results().Filter(func(stream.Row) bool { fault(); return true })`)
	void("stream.Rows.WriteCSV", `r := must(from().Select("id").Start(session.Context())); r.Wait(session.Context()); fmt.Println(r.Results().WriteCSV(wildIO{}))`)
	add("checkpoint.Load(place)", "type listPlace struct{ checkpoint.Place }\nfunc (p listPlace) List(ctx context.Context, unit string) ([]int64, error) { fault(); return nil, nil }\n"+
		"func place() { told(checkpoint.Load(context.Background(), listPlace{checkpoint.Folder(must(os.MkdirTemp(\"\", \"faults\")))}, \"u\")) }", none)

	call("ml.CrossPredict(learn)", `ml.CrossPredict(session.Context(), data(), folds(), learn)`)
	call("ml.CrossPredictProba(learn)", `ml.CrossPredictProba(session.Context(), data(), folds(), learn)`)
	call("ml.CrossPredictProba, its model", `ml.CrossPredictProba(session.Context(), data(), folds(), learned("PredictProba"))`)
	call("ml.CrossValidate(learn)", `ml.CrossValidate(session.Context(), data(), folds(), learn)`)
	call("ml.CrossValidate, its model", `ml.CrossValidate(session.Context(), data(), folds(), learned("Score"))`)
	call("ml.CrossValidate(scorers)", `ml.CrossValidate(session.Context(), data(), folds(), learned(""), wildScorer{})`)
	call("ml.GridSearch(learn)", `ml.GridSearch(session.Context(), data(), folds(), forest.Config{}, ml.Grid{"Trees": {1, 2}}, settle, ml.SearchConfig{})`)
	call("ml.SearchConfig.Progress", `ml.GridSearch(session.Context(), data(), folds(), forest.Config{}, ml.Grid{"Trees": {1, 2}}, settled, ml.SearchConfig{Progress: progress})`)
	call("ml.SearchConfig.Scorer", `ml.GridSearch(session.Context(), data(), folds(), forest.Config{}, ml.Grid{"Trees": {1, 2}}, settled, ml.SearchConfig{Scorer: wildScorer{}})`)
	call("ml.RandomSearch(draws)", `ml.RandomSearch(session.Context(), data(), folds(), forest.Config{}, ml.Draws{"Trees": func(*rand.Rand) any { fault(); return 1 }}, 2, 1, settled, ml.SearchConfig{})`)
	call("ml.RandomSearch(learn)", `ml.RandomSearch(session.Context(), data(), folds(), forest.Config{}, ml.Draws{"Trees": ml.OneOf(1, 2)}, 2, 1, settle, ml.SearchConfig{})`)
	call("ml.DateSplit(date)", `ml.DateSplit(data(), "2020-01-01", func(int64) string { fault(); return "2020-01-01" })`)
	call("ml.ForwardFolds(when)", `ml.ForwardFolds(data(), 2, func(i int64) time.Time { fault(); return time.Unix(i, 0) })`)
	call("ml.ReadCSV(r)", `ml.ReadCSV(wildIO{}, ml.Roles{})`)
	add("ml.FromTable(t)", "type wildTable struct{ *table.Table }\nfunc (wildTable) Column(string) ([]float64, error) { fault(); return []float64{1}, nil }\n"+
		"func place() { told(ml.FromTable(wildTable{must(table.Of([]struct{ A int }{{1}}))}, ml.Roles{})) }", none)
	call("ml.ScoreClassifier(c)", `ml.ScoreClassifier(session.Context(), wildModel{"Predict"}, []string{"no", "yes"}, data())`)
	call("ml.ScoreRegressor(r)", `ml.ScoreRegressor(session.Context(), wildNumbers{}, data())`)
	call("ml.PredictNumbers(r)", `ml.PredictNumbers(session.Context(), wildNumbers{}, data())`)
	call("ml.PredictProba(c)", `ml.PredictProba(session.Context(), wildModel{"PredictProba"}, data())`)
	call("ml.Metric.Score(model)", `ml.Accuracy.Score(session.Context(), wildModel{"PredictProba"}, data())`)
	call("calibrate.Fit(learn)", `calibrate.Fit(session.Context(), data(), folds(), learn, calibrate.Config{})`)
	call("calibrate.FitOn(m)", `calibrate.FitOn(session.Context(), wildModel{"PredictProba"}, data(), calibrate.Config{})`)
	call("forest.Config.Progress", `forest.FitClassifier(session.Context(), data(), forest.Config{Trees: 8, Progress: progress})`)
	call("forest.Config.Progress, numbers", `forest.FitRegressor(session.Context(), data(), forest.Config{Trees: 8, Progress: progress})`)
	add("forest.Config.Trainer", "type wildTrainer struct{}\nfunc (wildTrainer) FitClassifier(context.Context, *ml.Dataset, forest.Config) (*forest.Classifier, error) { fault(); return nil, errors.New(\"none\") }\n"+
		"func (wildTrainer) FitRegressor(context.Context, *ml.Dataset, forest.Config) (*forest.Regressor, error) { fault(); return nil, errors.New(\"none\") }\nfunc (wildTrainer) String() string { return \"wild\" }\n"+
		"func place() { told(forest.FitClassifier(session.Context(), data(), forest.Config{Trees: 2, Trainer: wildTrainer{}})) }", none)
	call("nn.Config.Progress", `nn.Fit(session.Context(), data(), nn.Config{Hidden: 4, Epochs: 2, Progress: func(int, int, float64) { fault() }})`)
	call("inspect.Permute(m)", `inspect.Permute(session.Context(), wildModel{"Score"}, data(), inspect.PermuteConfig{})`)
	call("inspect.PermuteConfig.Progress", `inspect.Permute(session.Context(), wildModel{}, data(), inspect.PermuteConfig{Progress: progress})`)
	call("inspect.PermuteConfig.Scorer", `inspect.Permute(session.Context(), wildModel{}, data(), inspect.PermuteConfig{Scorer: wildScorer{}})`)
	call("inspect.Depend(m)", `inspect.Depend(session.Context(), wildModel{"PredictProba"}, data(), "a", inspect.DependConfig{})`)
	call("lwp.Load(progress)", `lwp.Load(session.Context(), matches(6), progress)`)
	call("lwp.Load(archive) Events", `lwp.Load(session.Context(), wildArchive{matches(6), "Events"}, nil)`)
	call("lwp.Load(archive) Matches", `lwp.Load(session.Context(), wildArchive{matches(6), "Matches"}, nil)`)
	call("lwp.FitClassifier(learn)", `lwp.FitClassifier(session.Context(), loaded(), "x", "x", func(context.Context, *ml.Dataset) (lwp.Classifier, error) { fault(); return nil, errors.New("none") })`)
	call("lwp.Learner.Fit", `lwp.Choose(session.Context(), must(lwp.Load(session.Context(), matches(44), nil)), lwp.Learner{"a", wildFit}, lwp.Learner{"b", wildFit})`)
	all[len(all)-1].code = "func wildFit(context.Context, *lwp.Matches) (*lwp.Model, error) { fault(); return nil, errors.New(\"none\") }\n" + all[len(all)-1].code
	call("lwp.BandConfig.Progress", `lwp.FitBand(session.Context(), loaded(), must(lwp.Fit(session.Context(), loaded(), lwp.Config{Forest: forest.Config{Trees: 2}})), lwp.BandConfig{Refits: 10, Forest: forest.Config{Trees: 1}, Progress: progress})`)

	call("statsbomb.WriteFolder(progress)", `0, statsbomb.WriteFolder(session.Context(), must(os.MkdirTemp("", "faults")), matches(3), progress)`)
	call("statsbomb.WriteFolder(a)", `0, statsbomb.WriteFolder(session.Context(), must(os.MkdirTemp("", "faults")), wildArchive{matches(3), "Events"}, nil)`)
	void("statsbomb.Select(a)", `statsbomb.Select(wildArchive{matches(3), "Matches"}, statsbomb.Filter{})`)
	call("statsbomb.Where(a)", `statsbomb.Where(wildArchive{matches(3), "Events"}, statsbomb.Filter{}).Events(matches(3).Matches()[0].ID)`)
	call("statsbomb.ReadResults(r)", `statsbomb.ReadResults(wildIO{})`)
	call("statsbomb.Decoder.Other", `(&statsbomb.Decoder{Other: func(k, v []byte) { fault() }}).Decode([]byte("{\"id\":\"a\",\"whatever\":1,\"index\":1}"))`)
	call("fetch.AccountFrom(getenv)", `fetch.AccountFrom(func(string) string { fault(); return "" })`)
	serve := "srv := httptest.NewServer(http.NotFoundHandler()); defer srv.Close(); "
	add("fetch.Config.Warn", "func place() { "+serve+`told(fetch.Run(session.Context(), fetch.Config{Dir: must(os.MkdirTemp("", "faults")), Base: busy(), Competition: 11, Tries: 2, Wait: time.Millisecond, Warn: func(error) { fault() }})) }`+"\n"+
		"func busy() string { return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })).URL }", none)
	writer := "type wildOut struct{ in string }\nfunc (o wildOut) Send(context.Context, []byte, []byte) error { if o.in != \"\" { fault() }; return nil }\nfunc (o wildOut) Flush(context.Context) error { return nil }\nfunc one([]byte) int { return 0 }\n"
	call("replay.Run(out)", `0, replay.Run(session.Context(), matches(3), wildOut{"x"}, replay.Config{Matches: 1, Partitions: 1, PartitionOf: one}, nil)`)
	all[len(all)-1].code = writer + all[len(all)-1].code
	call("replay.Run(archive)", `0, replay.Run(session.Context(), wildArchive{matches(3), "Events"}, wildOut{}, replay.Config{Matches: 1, Partitions: 1, PartitionOf: one}, nil)`)
	call("replay.Run(progress)", `0, replay.Run(session.Context(), matches(3), wildOut{}, replay.Config{Matches: 1, Partitions: 1, PartitionOf: one}, func(replay.Progress) { fault() })`)
	call("replay.Config.PartitionOf", `0, replay.Run(session.Context(), matches(3), wildOut{}, replay.Config{Matches: 1, Partitions: 1, PartitionOf: func([]byte) int { fault(); return 0 }}, nil)`)

	call("gpu.Job.CPU", `0, must(gpu.NewSession(session.Context(), gpu.Config{Device: gpu.CPU})).Do(session.Context(), gpu.Job{Name: "j", Size: 1, Unfit: "a test", CPU: func(context.Context) error { fault(); return nil }})`)
	call("compare.Work.Run", `compare.Run(session.Context(), compare.Config{Elements: 100, Matrix: 8, Images: 1, Times: 1, Works: []compare.Work{{Name: "w", Size: "1", Run: func(context.Context, *gpu.Session) error { fault(); return nil }}}})`)
	call("compare.Config.Progress", `compare.Run(session.Context(), compare.Config{Elements: 100, Matrix: 8, Images: 1, Times: 1, Progress: progress})`)
	call("conf.Parse(r)", `conf.Parse("x", wildIO{})`)
	void("table.Table.Filter", `must(table.Of([]struct{ A int }{{1}})).Filter(func(int) bool { fault(); return true })`)
	add("jobs.Map(f)", "var cluster = must(jobs.Open(context.Background(), jobs.Config{Folder: must(os.MkdirTemp(\"\", \"faults\")), Grace: 100 * time.Millisecond}))\n"+
		"func place() { told(jobs.Map(session.Context(), cluster, []int{1}, func(context.Context, int) (int, error) { fault(); return 1, nil })) }", faultOptions{compiled: generic})
	add("jobs.Cluster.Register(f)", "func place() {\n\tf := must(jobs.Call(func(context.Context) (int, error) { fault(); return 1, nil }))\n\tmust(0, cluster.Register(context.Background(), \"wild\", f, 4))\n"+
		"\tids := must(cluster.Submit(context.Background(), jobs.Spec{Type: \"wild\", Attempts: 1}))\n\tr, err := cluster.Wait(session.Context(), ids[0])\n\tif err == nil { err = errors.New(r.Error) }\n\ttold(r, err)\n}", faultOptions{compiled: generic})

	void("live.Every(fn)", `live.Every(session.Context(), time.Millisecond, func() bool { fault(); return false })`)
	void("live.Frame.SetFunc(fn)", `f := live.NewFrame(); defer f.Close(); f.SetFunc(func() any { fault(); return 1 })`)
	void("widget.Output.With(f)", `widget.NewOutput().With(func() { fault() })`)
	front := func(name, code, message string) { add(name, code, faultOptions{message: message}) }
	state := func(value string) string {
		return `{"method":"update","state":{"value":` + value + `},"buffer_paths":[]}`
	}
	front("widget.Button.OnClick", "b1 := widget.NewButton(widget.ButtonConfig{})\nb1.OnClick(fault)\nb1", `{"method":"custom","content":{"event":"click"}}`)
	front("widget.IntSlider.OnChange", "s1 := widget.NewIntSlider(widget.IntSliderConfig{Max: 100})\ns1.OnChange(func(old, new int) { fault() })\ns1", state("1N"))
	front("widget.FloatSlider.OnChange", "s2 := widget.NewFloatSlider(widget.FloatSliderConfig{Max: 100})\ns2.OnChange(func(old, new float64) { fault() })\ns2", state("1N"))
	front("widget.Text.OnChange", "t1 := widget.NewText(widget.TextConfig{})\nt1.OnChange(func(old, new string) { fault() })\nt1", state(`"aN"`))
	front("widget.Text.OnSubmit", "t2 := widget.NewText(widget.TextConfig{})\nt2.OnSubmit(func(string) { fault() })\nt2", `{"method":"custom","content":{"event":"submit"}}`)
	front("comm.Comm.OnMessage", "c1 := must(comm.Open(\"wild\", nil, nil))\nc1.OnMessage(func(comm.Message) { fault() })", `{}`)

	drawn := func(name, code string, o faultOptions) { // Draw: the type's name
		o.last = "shown" + name + "{}"
		add("drawn value, "+name, strings.ReplaceAll("type Draw struct{}\n"+code, "Draw", "shown"+name), o)
	}
	drawn("String", `func (Draw) String() string { fault(); return "s" }`, none)
	drawn("Error", `func (Draw) Error() string { fault(); return "s" }`, none)
	drawn("Format", `func (Draw) Format(s fmt.State, verb rune) { fault(); fmt.Fprint(s, "s") }`, none)
	drawn("MIMEBundle", `func (Draw) MIMEBundle() map[string]any { fault(); return nil }`, none)
	drawn("MIMEMetadata", `func (Draw) MIMEBundle() map[string]any { return map[string]any{"text/plain": "s"} }
func (Draw) MIMEMetadata() map[string]any { fault(); return nil }`, none)
	drawn("MarshalJSON", `func (Draw) MarshalJSON() ([]byte, error) { fault(); return []byte("1"), nil }
type InDraw struct{}
func (InDraw) MIMEBundle() map[string]any { return map[string]any{"application/json": Draw{}} }`, faultOptions{compiled: optional})
	all[len(all)-1].last = "InshownMarshalJSON{}"
	drawn("Image", `func (Draw) ColorModel() color.Model { return color.GrayModel }
func (Draw) Bounds() image.Rectangle { return image.Rect(0, 0, 4, 4) }
func (Draw) At(x, y int) color.Color { fault(); return color.Gray{} }`, faultOptions{compiled: optional})

	void("slices.SortFunc", `slices.SortFunc([]int{2, 1}, func(a, b int) int { fault(); return a - b })`)
	void("sort.Slice", `sort.Slice([]int{2, 1}, func(i, j int) bool { fault(); return true })`)
	void("sync.Once.Do", `var once sync.Once; once.Do(fault)`)
	void("sync.OnceFunc", `sync.OnceFunc(fault)()`)
	void("strings.Map", `strings.Map(func(r rune) rune { fault(); return r }, "a")`)
	add("json.Marshaler", "type wildJSON struct{}\nfunc (wildJSON) MarshalJSON() ([]byte, error) { fault(); return []byte(\"1\"), nil }\nfunc place() { told(json.Marshal(wildJSON{})) }", none)
	add("http.Handler", "func place() {\n\tsrv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fault() }))\n\tr, err := http.Get(srv.URL)\n\ttold(r, err)\n}",
		faultOptions{asInGo: map[int]string{aGoexit: "EOF"}, why: "the client gets EOF"})
	ends := "its goroutine ends"
	add("go statement", "func place() { done := make(chan bool); go func() { defer close(done); fault() }(); <-done }", faultOptions{asInGo: map[int]string{aGoexit: ""}, why: ends})
	add("sync.WaitGroup.Go", "func place() { var wg sync.WaitGroup; wg.Go(fault); wg.Wait() }", faultOptions{asInGo: map[int]string{aGoexit: ""}, why: ends})
	add("time.AfterFunc", "func place() { done := make(chan bool); time.AfterFunc(time.Millisecond, func() { defer close(done); fault() }); <-done }", faultOptions{asInGo: map[int]string{aGoexit: ""}, why: ends})
	add("context.AfterFunc", "func place() { done := make(chan bool); ctx, cancel := context.WithCancel(context.Background()); context.AfterFunc(ctx, func() { defer close(done); fault() }); cancel(); <-done }",
		faultOptions{asInGo: map[int]string{aGoexit: ""}, why: ends})
	return all
}
