package compile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"cancha/stream"
)

// lines are records of these values, a millisecond apart.
func lines(values ...string) []stream.Record {
	list := make([]stream.Record, len(values))
	for i, v := range values {
		list[i] = stream.Record{Value: []byte(v), Time: time.UnixMilli(1772366400000 + int64(i))}
	}
	return list
}

// values are what the fields of the expressions hold in some records: x, y, s, t, a and c.
func values() []stream.Record {
	xs := []string{"0", "1", "-1.5", "2.675", "1e-7", "0.0001", "12345678.9", "1e20", "1e21", "1.7e300", "-0.5", "1772366400.123", "null",
		"0.1", "7", "1772366400123456"}
	ss := []string{`""`, `" padded\t"`, `"ab.cd.ef"`, `"a::b::c"`, `"user@host"`, `"STRASSE Straße İ ᾳ"`, `"bbb"`, `"it's a \\ back"`, `"7"`,
		`" 1.5e3 "`, `"2026-03-01T12:00:00.5+01:00"`, `"2026-03-01T12:00:00Z"`,
		`"ﬀ ñ 日本"`, `"a1\n2"`, "null", `"-.5"`}
	as := []string{"1", "1.0", `"one"`, "true", "null", `"v"`, `{"k":1}`, "[1,2]", "1e3", `"u"`, "-7", "12345678901234567", "false", `"7"`,
		`"2026-03-01T12:00:00.123456Z"`, "0.1"}
	ts := []string{`"2026-03-01T12:34:56.789Z"`, `"1969-12-31T23:59:59.999999Z"`, `"2000-02-29T00:00:00Z"`, "null"}
	var list []string
	for i := range xs {
		n := len(xs)
		list = append(list, fmt.Sprintf(`{"x":%s,"y":%s,"s":%s,"t":%s,"a":%s,"c":%s}`, xs[i], xs[(i*5+3)%n], ss[i], ts[i%len(ts)], as[i],
			as[(i*3+1)%n]))
		list = append(list, fmt.Sprintf(`{"x":%s,"y":%s,"s":%s,"a":%s,"c":%s}`, xs[i], xs[i], ss[(i*7+2)%n], as[i], as[i]))
	}
	return lines(list...)
}

// TestSameExpressions: all expressions of the golden file give the same on both engines, on columns of each kind.
func TestSameExpressions(t *testing.T) {
	c := server(t)
	f := stream.Field
	source := held("values", values())
	q := stream.From(source).With("i", f("@offset")).With("x", f("x").Mul(1)).With("y", f("y").Mul(1)).With("s", f("s").Replace("¤", "")).
		With("t", f("t").AsTime()).With("b", f("@offset").Mod(2).Eq(0)).
		With("a", stream.If(f("b").Or(stream.Literal(true)), f("a"), f("nothing"))).With("c", stream.If(f("b").Or(stream.Literal(true)),
		f("c"), f("nothing")))
	names := []string{"@offset"}
	for i, e := range expressions() {
		if e.Op == "now" {
			continue
		}
		name := fmt.Sprintf("%d %s", i, e)
		q, names = q.With(name, e), append(names, name)
	}
	same(t, c, q.Select(names...), source)
}

// TestSameCase: all letters that have another case have the same on both engines.
func TestSameCase(t *testing.T) {
	c := server(t)
	var list []string
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.ToLower(r) != r || unicode.ToUpper(r) != r {
			list = append(list, fmt.Sprintf(`{"s":"%c"}`, r))
		}
	}
	source := held("letters", lines(list...))
	f := stream.Field
	same(t, c, stream.From(source).With("lower", f("s").Lower()).With("upper", f("s").Upper()).Select("@offset", "s", "lower", "upper"), source)
}

// odd are values of a field n, and other records that are odd.
func odd() []stream.Record {
	var list []string
	for _, v := range []string{"1", "-2.5", "1e151", "9007199254740993", `"7"`, `" 8 "`, `""`, `"x"`, "true", "false", "null", "{}",
		`{"m":3}`, `{"m":"t"}`, `{"m":null}`, `{"m":{}}`, "[]", "[4]",
		`["u",5]`, `[[6]]`, `"2026-03-01T12:00:00Z"`, `"2026-03-01T12:00:00.123456789+02:00"`, `"2026-02-30T12:00:00Z"`,
		`"1500-01-01T00:00:00Z"`, `"true"`, `"\u00e9\ud83d\ude00"`} {
		list = append(list, `{"n":`+v+`}`)
		if v[0] != '{' { // of two spellings in one record the local engine takes the later, and Spark the longer
			list = append(list, `{"n":`+v+`,"n_m":9}`)
		}
	}
	list = append(list, `{}`, `{"n_m":"flat"}`, `{"n":1,"n":2}`, `[1]`, `"text"`, `{"n":1`, `{"n":1}x`, `{"n":1}}`, `{"n":1},{"n":2}`,
		`{"n":01}`, `{'n':1}`, `{"n":'x'}`, `{"n":1}]`, `{"n":1}] `, `{"k":'x',"n":1}`, ``, ` {"n": 3 } `, "\r\n{\"n\":4}\n", `{"event":{"n":5},"meta":{"k":1}}`,
		`{"event":null,"n":6}`, `{"meta":{"k":"v"},"event":{"n":{"m":7}},"n":8}`)
	return append(lines(list...), stream.Record{Time: time.UnixMilli(1772366400000)})
}

// TestSameRecords: what a record holds where a number, a text, a time, a truth or anything is wanted: the same records are bad, and of the others the same
// is read.
func TestSameRecords(t *testing.T) {
	c := server(t)
	source := held("odd", odd())
	formats := map[string]stream.JSONOptions{"plain": stream.JSONFormat(), "text numbers": stream.JSONFormat().TextNumbers(),
		"flattened": stream.JSONFormat().Flattened("_"),
		"envelope":  stream.JSONFormat().Envelope("event", "meta").Flattened("_")}
	uses := map[string]func(path string) stream.Expr{
		"number": func(p string) stream.Expr { return stream.Field(p).Add(0) },
		"text":   func(p string) stream.Expr { return stream.Field(p).Concat("").Lower() },
		"lower":  func(p string) stream.Expr { return stream.Field(p).Lower() },
		"time":   func(p string) stream.Expr { return stream.Field(p).AsTime() },
		"truth":  func(p string) stream.Expr { return stream.If(stream.Field(p), 1, 0) },
		"any":    func(p string) stream.Expr { return stream.Field(p) },
		"is":     func(p string) stream.Expr { return stream.Field(p).In("x", 1, true) },
	}
	for name, format := range formats {
		for use, of := range uses {
			t.Run(name+"/"+use, func(t *testing.T) {
				for _, path := range []string{"n", "n.m", "n[0]", "meta.k"} {
					same(t, c, stream.From(source).Format(format).With("v", of(path)).Select("@offset", "v"), source)
				}
			})
		}
	}
}

// TestSameKinds: Require lets the same records through on both engines, of a record's own paths, of elements and of columns behind an operator with memory.
func TestSameKinds(t *testing.T) {
	c := server(t)
	var list []string
	for _, v := range []string{`"12"`, `12`, `-7`, `-0`, `9223372036854775807`, `9223372036854775808`, `123456789012345678901234567890`, `1e5`, `1E2`, `12.0`, `0.5`,
		`1e400`, `-1e400`, `"1e400"`, `"-1e-400"`, `"1e5"`, `"1e400d"`, `"Infinity"`, `""`, `true`, `null`, `{"m":1}`, `[]`, `[1.5]`} {
		element := strings.Replace(v, "12.0", "12.5", 1) // Spark has elements as JSON that says 12
		list = append(list, fmt.Sprintf(`{"n":%s,"list":[{"n":%s}]}`, v, element))
	}
	source := held("kinds", lines(append(list, `{}`, `{"n_m":7}`)...))
	f := stream.Field
	for _, kinds := range [][]stream.Kind{{stream.Int, stream.Text}, {stream.Float}, {stream.Bool, stream.JSON}, {stream.Text}, {stream.Int}} {
		q := stream.From(source).Watermark(time.Hour)
		same(t, c, q.Require("n", kinds...).Select("@offset"), source)
		same(t, c, q.Format(stream.JSONFormat().Flattened("_")).Require("n.m", kinds...).Select("@offset"), source)
		same(t, c, q.Explode("list", "one").Require("one.n", kinds...).Select("@offset"), source)
		same(t, c, q.Filter(f("n").In(0.5, "12", true, -7).Or(f("n").IsNull())).With("at", f("@offset")).Deduplicate("at").Require("n", kinds...).Select("at"), source)
		same(t, c, q.With("x", f("@offset").Mul(0.5)).Require("x", kinds...).Select("x").Union(q.Select("@offset").With("x", f("@offset")).Select("x")), source)
	}
}

// bought are orders in three partitions, in order within each, of some shops, users and skus.
func bought() memory {
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	partitions := make([][]stream.Record, 3)
	for i := range 300 {
		at := start.Add(time.Duration(i)*2*time.Second + time.Duration(rng.IntN(1900))*time.Millisecond)
		if i%50 == 0 {
			at = start.Add(time.Duration(i/50) * time.Minute) // at the edge of a window
		}
		shop, by, total := rng.IntN(3), rng.IntN(3), fmt.Sprint(float64(rng.IntN(10000))/100)
		if rng.IntN(10) == 0 {
			total = "null"
		}
		items := fmt.Sprintf(`[{"sku":"s%d","count":%d},{"sku":"s%d","count":2}]`, rng.IntN(5), 1+rng.IntN(3), rng.IntN(5))
		if rng.IntN(8) == 0 {
			items = "[]"
		}
		text := fmt.Sprintf(`{"id":%d,"at":%q,"shop":%d,"paid_by":%d,"user":"u%d","total":%s,"sku":"s%d","items":%s}`, i-i%7/6,
			at.Format(time.RFC3339Nano), shop, by, rng.IntN(5), total, rng.IntN(7), items)
		partitions[i%3] = append(partitions[i%3], stream.Record{Value: []byte(text), Time: at})
	}
	return held("bought", partitions...)
}

// paid are payments of every third order, up to two minutes behind it.
func paid() memory {
	rng := rand.New(rand.NewPCG(3, 4))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var list []stream.Record
	for i := range 110 {
		at := start.Add(time.Duration(i)*6*time.Second + time.Duration(rng.IntN(120))*time.Second)
		list = append(list, stream.Record{Value: fmt.Appendf(nil, `{"order":%d,"at":%q,"amount":%d}`, i*3, at.Format(time.RFC3339Nano),
			rng.IntN(100)), Time: at})
	}
	return held("paid", list)
}

// TestSameQueries: queries with each operator give the same rows on both engines.
func TestSameQueries(t *testing.T) {
	c := server(t)
	f, source, payments := stream.Field, bought(), paid()
	timed := func(s memory) *stream.Query {
		return stream.From(s).EventTime(f("at").AsTime()).Watermark(time.Hour)
	}
	orders, minute := timed(source), stream.Tumbling(time.Minute)
	shops := orders.GroupBy("shop").Window(minute)
	amounts := timed(payments).Select("order", "amount")
	on := stream.On{Left: []string{"id"}, Right: []string{"order"}}
	tests := map[string]*stream.Query{
		"select":  orders.Filter(f("total").Gt(50)).With("half", f("total").Div(2)).Select("id", "half", "user", "items[1].sku", "@partition"),
		"explode": orders.Explode("items", "item").Filter(f("item.count").Ge(2)).Select("id", "item.sku", "item.count", "item"),
		"explode windows": orders.Explode("items", "item").GroupBy("item.sku").Window(minute).
			Agg(stream.Sum("sold", f("item.count")), stream.First("first", f("id")), stream.Collect("ids", f("id"), 3)),
		"tumbling": shops.Agg(stream.Count("n"), stream.CountIf("large", f("total").Gt(50)), stream.Sum("sum", f("total")),
			stream.Stats("s", f("total")).If(f("user").Ne("u1"))),
		"statistics": shops.Agg(stream.Min("min", f("total")), stream.Max("max", f("at").AsTime()), stream.Min("least", f("user").Lower()),
			stream.Mean("mean", f("total")), stream.Variance("var", f("total"))),
		"ordered": shops.Agg(stream.First("first", f("id")), stream.Last("last", f("user")), stream.Collect("users", f("user"), 5),
			stream.CountDistinct("skus", f("sku")), stream.TopK("top", f("sku"), 3)),
		"numbers": shops.Agg(stream.TopK("top", f("total").Floor().Mod(4), 3), stream.First("first", f("total").Mul(2)),
			stream.Collect("ids", f("id"), 4)),
		"sliding": orders.GroupBy("user").Window(stream.Sliding(time.Minute, 20*time.Second)).Agg(stream.Count("n"), stream.Sum("sum", f("total"))),
		"session": orders.GroupBy("user", "shop").Window(stream.Session(20*time.Second)).Agg(stream.Count("n"), stream.Max("max", f("total"))),
		"share": shops.Agg(stream.Count("n"), stream.Share("part", "paid_by", "shop"), stream.Share("large", "paid_by", "shop").
			If(f("total").Gt(50))),
		"two keys": orders.GroupBy("shop", "user").Window(minute).Agg(stream.Count("n"), stream.Share("part", "paid_by", "shop")),
		"top":      orders.GroupBy("shop", "user").Window(minute).Agg(stream.Count("n"), stream.Sum("sum", f("total"))).Top(2, "n", "shop"),
		"bottom":   orders.GroupBy("user").Window(minute).Agg(stream.Mean("mean", f("total"))).Bottom(1, "mean"),
		"ties":     orders.GroupBy("user").Window(minute).Agg(stream.Count("n")).TopTies(1, "n"),
		"again":    shops.Agg(stream.Count("n")).Window(stream.Tumbling(5*time.Minute)).Agg(stream.Max("most", f("n")), stream.Count("minutes")),
		"filtered": shops.Agg(stream.Count("n")).Filter(f("n").Gt(2)).With("rate", f("n").Div(60)).Drop("window_end"),
		"update":   orders.GroupBy("shop").TimeToLive(24*time.Hour).Agg(stream.Count("n"), stream.Sum("sum", f("total"))).Output(stream.Update),
		"union": orders.With("n", f("total")).Select("id", "n").Union(timed(payments).With("n", f("amount")).With("id", f("order")).
			Select("n", "id")),
		"join":      orders.Select("id", "user").Join(amounts, on, stream.Within{After: time.Minute}),
		"left join": orders.Select("id", "user").LeftJoin(amounts, on, stream.Within{Before: time.Minute, After: time.Minute}),
		"full join": orders.With("order", f("id")).Select("order", "total").FullJoin(amounts, stream.Same("order"), stream.Within{After: time.Minute}),
		"join windows": orders.Select("id", "user").Join(amounts, on, stream.Within{Before: time.Minute, After: time.Minute}).
			GroupBy("user").Window(minute).
			Agg(stream.Count("n"), stream.Sum("sum", f("amount"))),
		"lookup": orders.With("sku", f("sku").Replace("s", "")).Lookup(skus(), stream.Same("sku")).Select("id", "price", "since"),
		"left lookup": orders.With("sku", f("sku").Replace("s", "")).LeftLookup(skus(), stream.Same("sku")).Filter(f("price").Gt(1).
			Or(f("price").IsNull())).Select("id", "price"),
		"latest": orders.LeftLookup(stream.Latest("amounts", timed(payments).Select("order", "amount"), "order"), on).Select("id", "amount"),
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) { same(t, c, q, source, payments) })
	}
}

// skus is a table by texts, of which one has no price.
func skus() *stream.Table {
	rows := stream.NewRows(stream.Column{Name: "sku", Kind: stream.Text}, stream.Column{Name: "price", Kind: stream.Float},
		stream.Column{Name: "since", Kind: stream.Time})
	for i := range 5 {
		price := stream.FloatOf(float64(i) / 3)
		if i == 2 {
			price = stream.Value{}
		}
		rows.Append(stream.TextOf(fmt.Sprint(i)), price, stream.TimeOf(time.Date(2026, 3, i+1, 0, 0, 0, 1000, time.UTC)))
	}
	rows.Append(stream.TextOf("1"), stream.FloatOf(99), stream.Value{})
	return stream.TableOf("skus", rows, "sku")
}

// TestSameDeduplicated: one row of each key is left. Which one is not the same: over rows that lie there Spark takes any.
func TestSameDeduplicated(t *testing.T) {
	c := server(t)
	source := bought()
	q := stream.From(source).EventTime(stream.Field("at").AsTime()).Watermark(time.Hour).Deduplicate("id").Select("id")
	same(t, c, q, source)
}

// TestSameDemands: where both sides of a union, or of a full join's key, come from records, both are bad if they have something else there than what is wanted
// behind it.
func TestSameDemands(t *testing.T) {
	c := server(t)
	f := stream.Field
	a := held("a", lines(`{"x":1,"k":"l","id":1}`, `{"x":"t","k":"l","id":2}`, `{"x":null,"k":"l","id":3}`, `{"x":"u","k":"l","id":"v"}`))
	b := held("b", lines(`{"x":1,"k":"r","id":1}`, `{"x":"t","k":"r","id":2}`, `{"x":null,"k":"r","id":"w"}`, `{"x":5,"k":"r","id":7}`))
	left, right := stream.From(a).Watermark(time.Hour), stream.From(b).Watermark(time.Hour)
	l, r := left.Select("x", "k"), right.Select("x", "k")
	both := l.Union(r)
	tests := map[string]*stream.Query{
		"number":    both.With("y", f("x").Add(1)).Select("x", "y", "k"),
		"count":     both.GroupBy("k").Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n"), stream.Sum("sum", f("x"))),
		"time":      both.With("y", f("x").AsTime()).Select("k", "y"),
		"truth":     both.Filter(f("x").Not()).Select("k"),
		"three":     r.Union(l.Union(r)).With("y", f("x").Lower()).Select("k", "y"),
		"one known": left.With("z", f("x").Add(0)).With("x", f("z")).Select("x", "k").Union(r).With("y", f("x").Add(1)).Select("x", "y", "k"),
		"full join": left.Select("id", "x").FullJoin(right.With("z", f("x")).Select("id", "z"), stream.Same("id"), stream.Within{}).
			With("y", f("id").Add(1)).Select("x", "y", "z"),
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) { same(t, c, q, a, b) })
	}
}

// TestSameIntegers: integers beyond 2^53 of records are compared as what they are, among each other and with other numbers.
func TestSameIntegers(t *testing.T) {
	c := server(t)
	f := stream.Field
	source := held("large", lines(`{"a":9007199254740993,"b":9007199254740992}`, `{"a":1772366400000000100,"b":1772366400000000101}`, `{"a":-1,"b":-1.5}`,
		`{"a":9007199254740993,"b":9007199254740992.0}`, `{"a":18446744073709551616,"b":9223372036854775807}`, `{"a":"x","b":1}`, `{"b":1}`))
	q := stream.From(source)
	for name, e := range map[string]stream.Expr{"eq": f("a").Eq(f("b")), "ne": f("a").Ne(f("b")), "lt": f("a").Lt(f("b")), "le": f("a").Le(f("b")), "gt": f("a").Gt(f("b")),
		"ge": f("a").Ge(f("b"))} {
		q = q.With(name, e)
	}
	same(t, c, q.Select("@offset", "eq", "ne", "lt", "le", "gt", "ge"), source)
}

// TestSameElements: a record is bad if an element is no object where only members of elements are read; an array may be exploded under its own name; and what a
// step refuses of one element leaves out that one alone.
func TestSameElements(t *testing.T) {
	c := server(t)
	f := stream.Field
	source := held("lists", lines(`{"id":1,"list":[1,"a",null,true,{"k":1},[3],1.0,"1"]}`, `{"id":2,"list":[]}`, `{"id":3,"list":null}`, `{"id":4}`, `{"id":5,"list":"x"}`,
		`{"id":6,"list":{"k":1}}`, `{"id":7,"list":[{"k":"t"},{}]}`, `{"id":8,"list":[{"k":3,"v":[]},{"k":null},{"v":[{"w":1},{"w":"2"}]}]}`, `{"id":9,"list":[[{"k":1}]]}`,
		`{"id":10,"list":[null]}`))
	q := stream.From(source).Watermark(time.Hour)
	one := q.Explode("list", "one")
	tests := map[string]*stream.Query{
		"whole": one.Select("id", "one"), "whole and member": one.Select("id", "one", "one.k"), "member": one.Select("id", "one.k"), "none": one.Select("id"),
		"number": one.Filter(f("id").Ne(7)).With("n", f("one.k").Add(1)).Select("id", "n"), "twice": one.Explode("one.v", "two").Select("id", "two"),
		"own name": q.Explode("list", "list").Select("id", "list"), "require": one.Require("one", stream.Bool, stream.Text).Select("id", "one"),
		"key":             one.Filter(f("id").Ne(1)).GroupBy("one.k").Window(stream.Tumbling(time.Hour)).Agg(stream.Count("n")),
		"require and key": one.Require("one", stream.Bool, stream.Text).GroupBy("one").Window(stream.Tumbling(time.Hour)).Agg(stream.Count("n")),
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) { same(t, c, q, source) })
	}
}

// TestSamePaths: of two paths of which one leads through what the other reads, both engines take the same for something else than what is wanted.
func TestSamePaths(t *testing.T) {
	c := server(t)
	f := stream.Field
	var list, in []string
	for _, v := range []string{`1`, `"a"`, `null`, `{}`, `[]`, `[1,2]`, `[[1]]`, `["x"]`, `{"m":1}`, `{"m":{"k":true}}`, `{"m":{"k":1}}`, `{"m":[]}`, `{"m":"x"}`, `{"m":null}`, `true`} {
		list, in = append(list, `{"n":`+v+`}`), append(in, `{"list":[`+v+`]}`)
	}
	records, elements := held("records", lines(list...)), held("elements", lines(in...))
	for name, of := range map[string]func(q *stream.Query, n string) *stream.Query{
		"member of a number": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n).Add(0)).With("w", f(n+".m").Add(0))
		},
		"member of anything": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n).AsText()).With("w", f(n+".m").Add(0))
		},
		"element of anything": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n).AsText()).With("w", f(n+"[0]").Add(0))
		},
		"element and member": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n+"[0]").Add(0)).With("w", f(n+".m").Add(0))
		},
		"element, member, itself": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n+"[0]").Add(0).OrElse(f(n))).With("w", f(n+".m").Add(0))
		},
		"member of a member": func(q *stream.Query, n string) *stream.Query {
			return q.With("v", f(n+".m").AsText()).With("w", f(n+".m.k").Not())
		},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, c, of(stream.From(records), "n").Select("@offset", "v", "w"), records)
			same(t, c, of(stream.From(elements).Explode("list", "n"), "n").Select("@offset", "v", "w"), elements)
		})
	}
}
