package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// record is a source's records: what is read of them, in two projections that are filled in last. The first takes the JSON at each path out of
// the VARIANT, the second makes values of it: each path is looked for once.
type record struct {
	*reads
	raw, typed *protocol.Project
	parsed     *protocol.Expr    // of the record's value
	members    map[string]bool   // of the record, that are read
	parts      map[string]string // of a record beside its value: SQL by name
	headers    func()            // has the source give headers
}

// source is the records of a plan, with the event time and the watermark; bad ones are left out and counted.
func (c *compiler) source(p *plan.Plan) (*layout, error) {
	in := p.Input
	if err := readable(in); err != nil {
		return nil, err
	}
	r := &record{members: map[string]bool{}, parts: map[string]string{}, headers: func() {}}
	r.reads = &reads{shape: in.Shape, get: r.lies}
	read, err := c.read(in, r)
	if err != nil {
		return nil, err
	}
	c.finally(r.finish)
	l := &layout{compiler: c, bindings: map[string]binding{}, open: true, record: r, operators: operators(), time: "`#time`"}
	l.rel = r.begin(read)
	l.order = []string{r.part("partition"), r.part("offset")}
	at, err := l.eventTime(in.EventTime)
	if err != nil {
		return nil, err
	}
	l.rel = with(l.rel, "#time", at)
	l.rel = with(l.rel, "#good", "coalesce(`#fits` AND `#time` > TIMESTAMP'1678-09-23 00:00:00' AND `#time` < TIMESTAMP'2261-04-10 00:00:00', false)")
	l.observe("`#good`", "not what the query reads there, on Spark")
	l.rel = filter(l.rel, "`#good`")
	if !c.table {
		w := &protocol.Watermark{Input: l.rel, Column: "`#time`", Delay: micros(in.Delay)}
		l.rel = &protocol.Relation{Of: &protocol.Relation_Watermark{Watermark: w}}
	}
	return l, nil
}

// eventTime is when an event happened: the record's own time stamp, unless the plan says another.
func (l *layout) eventTime(e plan.Expr) (string, error) {
	if e.None() {
		return l.record.part("timestamp"), nil
	}
	n, err := l.compile(e, stream.Time)
	if err != nil {
		return "", fmt.Errorf("event time: %w", err)
	}
	return n.sql, nil
}

// readable refuses sources and formats that the cluster cannot read.
func readable(in plan.Input) error {
	switch in.Shape.Kind {
	case "json", "text":
		return nil
	case "csv":
		return fmt.Errorf("spark: records as %s: on Spark records are JSON or texts; write JSON, or cut a text with Split", in.Format)
	}
	return fmt.Errorf("spark: records as %s: on Spark records are JSON or texts, and only the local engine reads others", in.Format)
}

// begin is the way of records up to their values. Of the record the members that are read become VARIANTs, and the others are passed over.
func (r *record) begin(read *protocol.Relation) *protocol.Relation {
	rel := read
	if r.shape.Kind == "json" {
		r.parsed = text("")
		all := &protocol.WithColumns{Input: read, Aliases: []*protocol.Expr_Alias{{Expr: r.parsed, Name: []string{"#all"}}}}
		rel = with(&protocol.Relation{Of: &protocol.Relation_WithColumns{WithColumns: all}}, "#record", "get(`#all`, 0)")
		if r.shape.Envelope != "" {
			rel = with(rel, "#enveloped", fmt.Sprintf("(%[1]s IS NOT NULL AND NOT is_variant_null(%[1]s))", r.member(r.shape.Envelope)))
		}
	}
	r.raw, r.typed = &protocol.Project{Input: rel}, &protocol.Project{}
	r.typed.Input = &protocol.Relation{Of: &protocol.Relation_Project{Project: r.raw}}
	return &protocol.Relation{Of: &protocol.Relation_Project{Project: r.typed}}
}

// member is a member of the record.
func (r *record) member(name string) string {
	r.members[name] = true
	return "`#record`." + quoted(name)
}

// lies is what lies at a path: in the record proper, which is in its envelope if it has one, or beside that.
func (r *record) lies(parts []stream.Part, as string) string {
	outside := fmt.Sprintf("CAST(NULL AS %s)", as) // a record is an object, and has no elements
	if parts[0].Index < 0 {
		outside = within(r.member(parts[0].Name), parts[1:], as)
	}
	if r.shape.Envelope == "" || r.beside(parts) {
		return outside
	}
	return fmt.Sprintf("CASE WHEN `#enveloped` THEN %s ELSE %s END", within(r.member(r.shape.Envelope), parts, as), outside)
}

// parse is the value of a record with the members that are read. Spark reads one value and no further: in brackets, what follows it is seen, too. Unless told
// otherwise it reads 'texts' too, which are no JSON.
func (r *record) parse() string {
	fields := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.members)) {
		fields = append(fields, quoted(name)+" VARIANT")
	}
	if len(fields) == 0 {
		fields = []string{"`#none` VARIANT"}
	}
	return fmt.Sprintf("from_json(concat('[', CAST(value AS STRING), ']'), %s, map('allowSingleQuotes', 'false'))",
		quote("ARRAY<STRUCT<"+strings.Join(fields, ", ")+">>"))
}

// part is the column of a part of a record beside its value.
func (r *record) part(name string) string {
	sqls := map[string]string{"topic": "topic", "partition": "CAST(partition AS BIGINT)", "offset": "offset", "timestamp": "timestamp",
		"key": "CAST(key AS STRING)", "value": "CAST(value AS STRING)"}
	sql, ok := sqls[name]
	if !ok { // of headers of one name it is the last
		r.headers()
		header := quote(strings.TrimPrefix(name, "headers."))
		sql = fmt.Sprintf("CAST(try_element_at(filter(headers, h -> h.key = %s), -1).value AS STRING)", header)
	}
	r.parts["@"+name] = sql
	return quoted("@" + name)
}

// finish writes down what is read, now that it is known.
func (r *record) finish() {
	r.raw.Exprs = []*protocol.Expr{text("*")}
	sqls, names := r.reads.raw()
	if r.shape.Kind == "text" {
		sqls, names = r.plain()
	}
	for i, sql := range sqls {
		r.raw.Exprs = append(r.raw.Exprs, named(sql, names[i]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.parts)) {
		r.typed.Exprs = append(r.typed.Exprs, named(r.parts[name], name))
	}
	r.typed.Exprs = append(r.typed.Exprs, r.values()...)
	r.typed.Exprs = append(r.typed.Exprs, named(r.fit(), "#fits"))
	if r.parsed != nil {
		r.parsed.Of.(*protocol.Expr_Text_).Text.Sql = r.parse()
	}
}

// plain is the text that a record is.
func (r *record) plain() (sqls, names []string) {
	for _, p := range r.places {
		sqls = append(sqls, "to_json(CAST(CAST(value AS STRING) AS VARIANT))", "CAST(value AS STRING)")
		names = append(names, p.json(), p.texts())
		if p.kinds {
			sqls, names = append(sqls, "'STRING'"), append(names, p.kind())
		}
	}
	return sqls, names
}

// fit is the condition that a record can be used.
func (r *record) fit() string {
	conditions := []string{"value IS NOT NULL"}
	if r.shape.Kind == "json" {
		conditions = []string{"size(`#all`) = 1", "`#record` IS NOT NULL",
			`startswith(trim(LEADING '\u0009\u000a\u000d ' FROM CAST(value AS STRING)), '{')`,
			// or else a bracket behind it would end the brackets around it; most records have no white space at their end
			`(endswith(CAST(value AS STRING), '}') OR endswith(trim(TRAILING '\u0009\u000a\u000d ' FROM CAST(value AS STRING)), '}'))`}
	}
	return strings.Join(append(conditions, r.fits()...), " AND ")
}

// observe has the query count rows, and those of which a condition says that they are bad, for a reason.
func (l *layout) observe(good, reason string) {
	name := l.fresh("records")
	l.observed = append(l.observed, Observation{name, reason})
	l.rel = &protocol.Relation{Of: &protocol.Relation_Observe{Observe: &protocol.Observe{Input: l.rel, Name: name,
		Metrics: []*protocol.Expr{named("count(1)", "records"), named(fmt.Sprintf("count_if(NOT %s)", good), "bad")}}}}
}

// read is the relation that records come from.
func (c *compiler) read(in plan.Input, r *record) (*protocol.Relation, error) {
	if c.options.Records != nil {
		return c.options.Records(in)
	}
	options, err := c.kafkaSource(in)
	if err != nil {
		return nil, err
	}
	r.headers = func() { options["includeHeaders"] = "true" }
	format := "kafka"
	return &protocol.Relation{Of: &protocol.Relation_Read{Read: &protocol.Read{Streaming: !c.table,
		Of: &protocol.Read_Source_{Source: &protocol.Read_Source{Format: &format, Options: options}}}}}, nil
}
