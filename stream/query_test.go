package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// lines makes records of lines, all in one partition.
func lines(text string) [][]Record {
	var records []Record
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		records = append(records, Record{Value: []byte(strings.TrimSpace(line)), Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	}
	return [][]Record{records}
}

func source(text string) Source { return Memory("orders", lines(text)) }

// run runs a query to its end and returns its rows as CSV, and the query.
func run(t *testing.T, q *Query) (string, *Running) {
	t.Helper()
	running, err := elsewhere(t, q).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := running.Results().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String(), running
}

func want(t *testing.T, got, want string) {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(want), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	if want := strings.Join(lines, "\n") + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const orders = `{"id":1,"user":{"city":"Lima"},"total":10,"at":"2026-03-01T12:00:05Z","items":[{"sku":"a","n":2},{"sku":"b","n":1}]}
	{"id":2,"user":{"city":"Quito"},"total":20.5,"at":"2026-03-01T12:00:30Z","items":[{"sku":"a","n":1}]}
	{"id":3,"user":{"city":"Lima"},"total":30,"at":"2026-03-01T12:01:10Z","items":[]}
	{"id":4,"user":{"city":"Lima"},"total":"much","at":"2026-03-01T12:01:12Z"}
	{"id":5,"user":{},"total":5,"at":"2026-03-01T12:01:13Z"}
	{"id":6,"user":{"city":"Lima"},"total":7
	{"id":7,"user":{"city":"Quito"},"total":1,"at":"2026-03-01T12:02:59Z","items":[{"sku":"c","n":9}]}
	{"id":8,"user":{"city":"Lima"},"total":99,"at":"2026-03-01T12:00:59Z"}`

func timed(text string) *Query {
	return From(source(text)).EventTime(Field("at").AsTime())
}

func TestTumblingSums(t *testing.T) {
	q := timed(orders).GroupBy("user.city").Window(Tumbling(time.Minute)).
		Agg(Count("orders"), Sum("sum", Field("total")), Max("most", Field("total")), CountIf("large", Field("total").Gt(15)))
	got, running := run(t, q)
	want(t, got, `user.city,window_start,window_end,orders,sum,most,large
		Lima,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,10,10,0
		Lima,2026-03-01T12:01:00Z,2026-03-01T12:02:00Z,1,30,30,1
		Quito,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,1,20.5,20.5,1
		Quito,2026-03-01T12:02:00Z,2026-03-01T12:03:00Z,1,1,1,0`)
	totals, bad := running.Totals(), running.BadRecords()
	if totals.Records != 8 || totals.Bad != 3 || totals.Late != 1 || totals.Rows != 4 {
		t.Errorf("got %+v", totals)
	}
	for _, reason := range []string{"total: want a number, got another text", "no user.city", "not JSON: unexpected end of JSON input"} {
		if !slices.Contains(bad.Reasons, ReasonCount{Reason: reason, Count: 1}) {
			t.Errorf("%s: got %v", reason, bad.Reasons)
		}
	}
}

func TestSlidingWindowsHoldAnEventSeveralTimes(t *testing.T) {
	got, _ := run(t, timed(orders).Watermark(5*time.Minute).Filter(Has("user.city")).
		Filter(Field("id").In(1, 3)).GroupBy("user.city").Window(Sliding(2*time.Minute, time.Minute)).Agg(Count("n")))
	want(t, got, `user.city,window_start,window_end,n
		Lima,2026-03-01T11:59:00Z,2026-03-01T12:01:00Z,1
		Lima,2026-03-01T12:00:00Z,2026-03-01T12:02:00Z,2
		Lima,2026-03-01T12:01:00Z,2026-03-01T12:03:00Z,1`)
}

func TestSessionsEndAGapAfterTheLastEvent(t *testing.T) {
	const clicks = `{"u":"a","at":"2026-03-01T12:00:00Z"}
		{"u":"a","at":"2026-03-01T12:00:20Z"}
		{"u":"b","at":"2026-03-01T12:00:21Z"}
		{"u":"a","at":"2026-03-01T12:01:00Z"}
		{"u":"a","at":"2026-03-01T12:00:45Z"}
		{"u":"a","at":"2026-03-01T12:10:00Z"}`
	got, _ := run(t, timed(clicks).Watermark(time.Minute).GroupBy("u").Window(Session(30*time.Second)).Agg(Count("n")))
	want(t, got, `u,window_start,window_end,n
		a,2026-03-01T12:00:00Z,2026-03-01T12:01:30Z,4
		a,2026-03-01T12:10:00Z,2026-03-01T12:10:30Z,1
		b,2026-03-01T12:00:21Z,2026-03-01T12:00:51Z,1`)
}

func TestExplodeAndColumns(t *testing.T) {
	got, _ := run(t, timed(orders).Explode("items", "item").With("city", Field("user.city").Upper()).
		With("twice", Field("item.n").Mul(2)).Filter(Field("twice").Gt(2)).Select("id", "city", "item.sku", "twice", "@offset"))
	want(t, got, `id,city,item.sku,twice,@offset
		1,LIMA,a,4,0
		7,QUITO,c,18,6`)
}

func TestJoinsWithinTime(t *testing.T) {
	const paid = `{"order":1,"amount":10,"at":"2026-03-01T12:00:40Z"}
		{"order":3,"amount":30,"at":"2026-03-01T12:20:00Z"}
		{"order":9,"amount":1,"at":"2026-03-01T12:20:01Z"}`
	payments := timed(paid).Watermark(time.Hour).Select("order", "amount")
	left := timed(orders).Watermark(time.Hour).Filter(Field("id").In(1, 2, 3)).Select("id", "total")
	on := On{Left: []string{"id"}, Right: []string{"order"}}
	got, _ := run(t, left.Join(payments, on, Within{After: 5 * time.Minute}))
	want(t, got, `id,total,order,amount
		1,10,1,10`)
	got, _ = run(t, left.FullJoin(payments, on, Within{After: 5 * time.Minute}))
	want(t, got, `id,total,order,amount
		,,3,30
		,,9,1
		1,10,1,10
		2,20.5,,
		3,30,,`)
}

func TestLookups(t *testing.T) {
	goods := NewRows(Column{Name: "sku", Kind: Text}, Column{Name: "name", Kind: Text})
	for _, each := range [][2]string{{"a", "apple"}, {"b", "bread"}} {
		sku, _ := ValueOf(each[0])
		name, _ := ValueOf(each[1])
		goods.Append(sku, name)
	}
	q := timed(orders).Explode("items", "item").With("sku", Field("item.sku"))
	got, _ := run(t, q.LeftLookup(TableOf("goods", goods, "sku"), Same("sku")).Select("sku", "name"))
	want(t, got, `sku,name
		a,apple
		a,apple
		b,bread
		c,`)
	news := Latest("names", timed(`{"sku":"a","name":"old","at":"2026-03-01T12:00:00Z"}
		{"sku":"a","name":"new","at":"2026-03-01T12:00:00Z"}`).Select("sku", "name"), "sku")
	got, _ = run(t, q.Lookup(news, Same("sku")).Select("sku", "name"))
	want(t, got, `sku,name
		a,new
		a,new`)
}

func TestTopOfEachWindow(t *testing.T) {
	const bids = `{"a":1,"at":"2026-03-01T12:00:00Z"}
		{"a":2,"at":"2026-03-01T12:00:01Z"}
		{"a":2,"at":"2026-03-01T12:00:02Z"}
		{"a":3,"at":"2026-03-01T12:00:03Z"}
		{"a":3,"at":"2026-03-01T12:01:03Z"}`
	q := timed(bids).GroupBy("a").Window(Tumbling(time.Minute)).Agg(Count("n")).Select("window_start", "a", "n")
	got, _ := run(t, q.Top(1, "n"))
	want(t, got, `window_start,a,n
		2026-03-01T12:00:00Z,2,2
		2026-03-01T12:01:00Z,3,1`)
	got, _ = run(t, q.Bottom(2, "n").Filter(Field("a").Ne(3)))
	want(t, got, `window_start,a,n
		2026-03-01T12:00:00Z,1,1`)
}

func TestDeduplicateUnionAndASecondAggregation(t *testing.T) {
	const a = `{"id":1,"at":"2026-03-01T12:00:00Z"}
		{"id":1,"at":"2026-03-01T12:00:01Z"}
		{"id":2,"at":"2026-03-01T12:00:02Z"}`
	const b = `{"id":3,"at":"2026-03-01T12:00:02Z"}`
	q := timed(a).Watermark(time.Minute).Deduplicate("id").Select("id").Union(timed(b).Watermark(time.Minute).Select("id"))
	got, _ := run(t, q)
	want(t, got, "id\n1\n2\n3")
	got, _ = run(t, q.Window(Tumbling(time.Minute)).Agg(Count("n"), CountDistinct("ids", Field("id"))))
	want(t, got, `window_start,window_end,n,ids
		2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,3,3`)
}

func TestProcessKeepsStatesAndTimers(t *testing.T) {
	const beats = `{"host":"x","at":"2026-03-01T12:00:00Z"}
		{"host":"y","at":"2026-03-01T12:00:00Z"}
		{"host":"x","at":"2026-03-01T12:00:50Z"}
		{"host":"x","at":"2026-03-01T12:01:40Z"}`
	type state struct {
		n    int
		last time.Time
	}
	q := timed(beats).Process(Processing{Name: "silence", Keys: []string{"host"}, TimeToLive: time.Hour,
		Columns: []Column{{Name: "host", Kind: Text}, {Name: "beats", Kind: Int}, {Name: "silent", Kind: Time}},
		State:   func() any { return &state{} },
		Row: func(c *Context, s any, _ Row) error {
			st := s.(*state)
			st.n, st.last = st.n+1, c.Time()
			c.SetTimer(c.Time().Add(time.Minute))
			return nil
		},
		Timer: func(c *Context, s any, at time.Time) error {
			if st := s.(*state); at.Sub(st.last) >= time.Minute {
				return c.Emit(c.Key()[0], st.n, at)
			}
			return nil
		}})
	got, _ := run(t, q)
	want(t, got, `host,beats,silent
		x,3,2026-03-01T12:02:40Z
		y,1,2026-03-01T12:01:00Z`)
}

func TestUpdateKeepsTheNewestStateOfARow(t *testing.T) {
	var writes int
	sink := SinkFunc(func(_ int64, rows *Rows) error { writes += rows.Len(); return nil })
	got, _ := run(t, timed(orders).Output(Update).TimeToLive(time.Hour).GroupBy("user.city").Agg(Count("n")).To(sink))
	want(t, got, "user.city,n\nLima,4\nQuito,2")
	if writes < 2 {
		t.Errorf("%d rows were written", writes)
	}
}

func TestDeadLettersHaveBadAndLateRecords(t *testing.T) {
	var reasons []string
	sink := SinkFunc(func(_ int64, rows *Rows) error {
		texts, err := rows.Strings("reason")
		reasons = append(reasons, texts...)
		return err
	})
	run(t, timed(orders).GroupBy("user.city").Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("total"))).DeadLetters(sink))
	if got := fmt.Sprintf("%d, %s", len(reasons), reasons[3]); got != "4, late by 2m0s" {
		t.Errorf("got %s of %q", got, reasons)
	}
}

func TestStartRefuses(t *testing.T) {
	q := timed(orders)
	for _, each := range []struct {
		q    *Query
		says string
	}{
		{q, "add .Select"},
		{q.GroupBy("user.city").Agg(Count("n")), "without a window a group is never complete"},
		{q.Select("id").Union(q.GroupBy("id").Window(Tumbling(time.Minute)).Agg(Count("n")).Select("id")).Output(Update), "use Output(Append)"},
		{q.Output(Update).GroupBy("user.city").Agg(Count("n")), "TimeToLive"},
		{q.Window(Tumbling(0)).Agg(Count("n")), "a window of 0s"},
		{q.Window(Tumbling(time.Minute)), "nothing to compute"},
		{q.Filter(Field("total").Add("x").Gt(1)).Select("id"), `"x" is a text; want a number`},
		{q.Select("items[").Filter(Has("items[")), "no closing ]"},
		{q.Select("id").Filter(Field("total").Gt(1)), `no column "total" here; there are id`},
		{q.Deduplicate("id").Select("id"), "set Watermark before it"},
		{q.Select("id").Top(3, "id"), "put an Agg with a Window before it"},
		{q.Filter(Field("name").Matches("(")).Select("id"), "missing closing )"},
		{q.Window(Tumbling(time.Minute)).Agg(Count("n"), Sum("n", Field("total"))), `two columns are named "n"`},
		{q.Select("id").Join(q.Select("id", "total"), On{}, Within{}), "Same"},
		{q.Filter(Field("id").Eq(struct{}{})).Select("id"), "a literal of type struct {}"},
		{q.Output(Update).Select("id"), "use Output(Append)"},
	} {
		if _, err := each.q.Start(context.Background()); err == nil || !strings.Contains(err.Error(), each.says) {
			t.Errorf("%s\ngot %v, want %q", each.q.Plan(), err, each.says)
		}
	}
}

func TestAPathThatNoRecordHasIsNoted(t *testing.T) {
	_, running := run(t, timed(orders).Filter(Field("totl").Gt(3)).Select("id"))
	if notes := running.Notes(); len(notes) != 2 || !strings.Contains(notes[0], `No record had "totl"`) {
		t.Errorf("got %q", notes)
	}
}

func TestCSV(t *testing.T) {
	q := From(Memory("csv", lines("1,Lima,2.5\n2,\"Quito, EC\",7\n3,x\n4,Lima,much"))).Format(CSVFormat("id", "city", "price"))
	got, running := run(t, q.Filter(Field("price").Gt(0)).Select("id", "city", "price"))
	want(t, got, "id,city,price\n1,Lima,2.5\n2,\"Quito, EC\",7")
	if bad := running.BadRecords(); bad.Total != 2 {
		t.Errorf("got %v", bad)
	}
}

func TestExplainShowsWhatIsRead(t *testing.T) {
	got := timed(orders).Name("cities").GroupBy("user.city").Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("total"))).Explain().String()
	want := `cities: output append
  aggregate by user.city, tumbling 1m0s: sum = sum(total)
    read memory orders, 1 partitions as JSON, event time: as_time(at), watermark 0s behind
of each record of memory orders, 1 partitions: at (an RFC 3339 time), user.city (a value), total (a number)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestExplainInANotebook: a join stands beside what it is joined to, and what records hold is shown as it is.
func TestExplainInANotebook(t *testing.T) {
	left, right := timed(orders).Name("<left>").Watermark(time.Minute).Select("id"), timed(orders).Name("right").Watermark(time.Minute).Select("id")
	shown := left.Join(right, Same("id"), Within{}).Explain().MIMEBundle()
	page, text := shown["text/html"].(string), shown["text/plain"].(string)
	for _, part := range []string{"&lt;left&gt;", "<b>inner</b> join on id", "<b>right</b>, output", "<b>read</b> memory orders", "of each record of memory orders"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q: %s", part, page)
		}
	}
	if strings.Count(page, "<div") != strings.Count(page, "</div>") || !strings.Contains(text, "inner join on id") {
		t.Errorf("got %s\n%s", page, text)
	}
	if got := timed(orders).Agg(Count("n")).Explain().MIMEBundle()["text/html"].(string); !strings.Contains(got, "It cannot start:") {
		t.Errorf("a query that cannot start is shown without the reason: %s", got)
	}
}

// halves scores a number by the batch.
type halves struct {
	numbers []float64
	at      []time.Time
}

func (h *halves) Record(_ context.Context, r *Record) (time.Time, string) {
	var x float64
	if _, err := fmt.Sscan(string(r.Value), &x); err != nil {
		return time.Time{}, "no number"
	}
	h.numbers, h.at = append(h.numbers, x), append(h.at, r.Time.Add(time.Duration(x)*time.Second))
	return h.at[len(h.at)-1], ""
}

func (h *halves) Flush(_ context.Context, emit func(at time.Time, row ...Value) error) error {
	for i, x := range h.numbers {
		if err := emit(h.at[i], FloatOf(x), FloatOf(x/2)); err != nil {
			return err
		}
	}
	h.numbers, h.at = nil, nil
	return nil
}

func TestProcessRecordsAndProgress(t *testing.T) {
	q := From(source("1\nx\n2\n90")).Name("halves").ProcessRecords(RecordProcessing{Name: "half", New: func() RecordHandler { return &halves{} },
		Columns: []Column{{Name: "x", Kind: Float}, {Name: "half", Kind: Float}}})
	got, running := run(t, q)
	want(t, got, "x,half\n1,0.5\n2,1\n90,45")
	got, _ = run(t, q.Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("half"))).Drop("window_end"))
	want(t, got, `window_start,sum
		2026-03-01T12:00:00Z,1.5
		2026-03-01T12:01:00Z,45`)
	p := running.Progress()
	if p.Name != "halves" || p.NumInputRows != 4 || p.Sources[0].EndOffset["orders"]["0"] != 4 || p.Sources[0].Metrics["badRecords"] != "1" ||
		p.EventTime["max"].String() != "2026-03-01T12:01:30.000Z" || p.Sink.NumOutputRows != 3 {
		t.Errorf("got %+v", p)
	}
}

func TestPartsOfARecordBesideItsValue(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	records := []Record{{Key: []byte("k"), Value: []byte(`{"a":1}`), Time: at, Headers: []Header{{Key: "from", Value: []byte("old")}, {Key: "from", Value: []byte("shop")}}},
		{Value: []byte(`{"a":2}`), Time: at}}
	got, _ := run(t, From(Memory("t", [][]Record{records})).Select("a", "@key", "@headers.from", "@topic", "@partition", "@timestamp", "@value"))
	want(t, got, `a,@key,@headers.from,@topic,@partition,@timestamp,@value
		1,k,shop,t,0,2026-03-01T12:00:00Z,"{""a"":1}"
		2,,,t,0,2026-03-01T12:00:00Z,"{""a"":2}"`)
}

func TestACancelledQueryGivesOutNoOpenWindow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := Memory("t", lines(`{"at":"2026-03-01T12:00:00Z"}`)).Follow()
	running, err := From(source).EventTime(Field("at").AsTime()).Window(Tumbling(time.Minute)).Agg(Count("n")).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for running.Totals().Records == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := running.Wait(t.Context()); err == nil || running.Results().Len() != 0 {
		t.Errorf("got %v, %d rows", err, running.Results().Len())
	}
}

func TestEachBadRowBehindAnOperatorCounts(t *testing.T) {
	const rows = `{"id":1,"list":[1,2]}
		{"list":[1]}
		{"id":null,"list":[1]}
		{"id":2,"list":{}}
		{"id":3,"list":[5]}`
	q := From(source(rows)).Watermark(time.Minute).Deduplicate("id").Explode("list", "n").With("x", Field("n").Add(0)).Select("id", "x")
	got, running := run(t, q)
	want(t, got, "id,x\n1,1\n1,2\n3,5")
	if bad := running.BadRecords(); bad.Total != 3 || !slices.Contains(bad.Reasons, ReasonCount{Reason: "list: want an array, got JSON", Count: 1}) {
		t.Errorf("got %v", bad)
	}
}

// TestJoinsDoNotDependOnWhoComesFirst: a lane's watermark counts for others once its rows have been joined, not before. When it counted
// sooner, one join in some hundred forgot a row whose partner was on its way.
func TestJoinsDoNotDependOnWhoComesFirst(t *testing.T) {
	at := func(minute int) Record {
		return Record{Value: fmt.Appendf(nil, `{"id":%d,"at":"2026-03-01T12:%02d:00Z"}`, minute, minute)}
	}
	side := func(name string) *Query {
		var records [][]Record
		for p := range 3 {
			var list []Record
			for minute := p; minute < 60; minute += 3 {
				list = append(list, at(minute))
			}
			records = append(records, list)
		}
		return From(Memory(name, records).BatchSize(5)).EventTime(Field("at").AsTime()).Watermark(3 * time.Minute).Select("id")
	}
	for range 100 {
		got, _ := run(t, side("left").Join(side("right"), Same("id"), Within{Before: time.Minute, After: time.Minute}))
		if n := strings.Count(got, "\n"); n != 61 {
			t.Fatalf("got %d rows, want 60", n-1)
		}
	}
}

// TestAnAlternativeThatNoRecordHasIsNotNoted: of several places where a value may be, those that are not used are no misspelling.
func TestAnAlternativeThatNoRecordHasIsNotNoted(t *testing.T) {
	_, running := run(t, timed(orders).With("where", Field("user.city").OrElse(Field("town"))).Select("id", "where"))
	if notes := running.Notes(); len(notes) != 1 {
		t.Errorf("got %q", notes)
	}
}

// TestJoinsOnNamesOfTheLeftAlone: they are the names on the right too; different numbers of names are refused, and can be shown.
func TestJoinsOnNamesOfTheLeftAlone(t *testing.T) {
	left, right := timed(orders).Watermark(time.Minute).Select("id"), timed(orders).Watermark(time.Minute).Select("id")
	if got, _ := run(t, left.Join(right, On{Left: []string{"id"}}, Within{})); strings.Count(got, "\n") < 3 {
		t.Errorf("got %s", got)
	}
	uneven := left.Join(right, On{Left: []string{"id", "total"}, Right: []string{"id"}}, Within{})
	if text := uneven.Explain().String(); !strings.Contains(text, "want as many columns on both sides") {
		t.Errorf("got %s", text)
	}
}

func TestWindowsByTheClock(t *testing.T) {
	before := time.Now()
	got, running := run(t, From(source(orders)).EventTime(Now()).With("at", Now()).GroupBy("user.city").Window(Tumbling(time.Hour)).
		Agg(Count("n"), Min("first", Field("at").AsTime()), Max("last", Field("at").AsTime())))
	after := time.Now()
	rows, n := running.Results(), int64(0)
	for i := range rows.Len() {
		row := rows.Row(i)
		n += row.Int("n")
		if first, last := row.Time("first"), row.Time("last"); first.Before(before) || last.After(after) || first.Before(row.Time("window_start")) {
			t.Errorf("read between %v and %v, got\n%s", before, after, got)
		}
	}
	if n != 6 || running.Totals().Late != 0 {
		t.Errorf("got %d events and %d late ones in\n%s", n, running.Totals().Late, got)
	}
}
