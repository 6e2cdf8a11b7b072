package compile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cancha/stream"
	"cancha/stream/plan"
)

// require leaves records out that have something of other kinds at a path, and counts them as bad. As here, that is behind the event time: such a record
// counts for the watermark.
func (l *layout) require(s plan.Step) error {
	n, err := l.field(s.Path, stream.Any)
	if err != nil {
		return err
	}
	condition, good := l.ofKinds(n, s.Kinds), l.fresh("#kinds")
	l.rel = with(l.rel, good, condition)
	l.observe(quoted(good), s.Path+": want "+s.Wanted())
	l.rel = filter(l.rel, l.held(quoted(good)))
	return nil
}

// ofKinds is the condition that a value is of one of these kinds, or absent. Of what is known as its JSON alone, 2.0 is the integer 2.
func (l *layout) ofKinds(n node, kinds []stream.Kind) string {
	switch {
	case n.of != nil && n.of.live:
		return n.of.in.kindAt(n.of.path, kinds)
	case n.kind == stream.Any || n.kind == stream.JSON:
		json := l.bind(n.sql)
		return ofKinds(kinds, kindIn(json), json, l.bind(textIn(json)))
	case slices.Contains(kinds, n.kind), n.kind == stream.Int && slices.Contains(kinds, stream.Float):
		return "true"
	}
	return "(" + n.sql + " IS NULL)"
}

// kindIn is the kind of a value as schema_of_variant calls it, of its JSON.
func kindIn(json string) string {
	return fmt.Sprintf("CASE WHEN %[1]s THEN 'STRING' WHEN %[2]s IN ('true', 'false') THEN 'BOOLEAN' WHEN startswith(%[2]s, '{') THEN 'OBJECT' "+
		"WHEN startswith(%[2]s, '[') THEN 'ARRAY' WHEN try_cast(%[2]s AS BIGINT) IS NOT NULL THEN 'BIGINT' ELSE 'DOUBLE' END", isTextIn(json), json)
}

// ofKinds is the condition that a value is of one of these kinds, or absent, by its kind, its JSON and its text. A number that no DOUBLE holds is none: here
// it is kept as its text, so a text that is one is none either.
func ofKinds(kinds []stream.Kind, kind, json, text string) string {
	tests := map[stream.Kind]string{
		stream.Bool:  "{kind} = 'BOOLEAN'",
		stream.Int:   "{kind} = 'BIGINT'",
		stream.Float: "{kind} = 'BIGINT' OR startswith({kind}, 'DECIMAL') OR {kind} IN ('DOUBLE', 'FLOAT') AND {json} NOT IN ('Infinity', '-Infinity')",
		stream.JSON:  "startswith({kind}, 'OBJECT') OR startswith({kind}, 'ARRAY')",
		stream.Text: "{kind} = 'STRING' AND NOT ({text} RLIKE " + quote(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`) +
			" AND coalesce(abs(try_cast({text} AS DOUBLE)) = " + double(math.Inf(1)) + ", false))",
	}
	list := []string{"{json} IS NULL", "{kind} = 'VOID'"}
	for _, k := range kinds {
		list = append(list, tests[k])
	}
	insert := strings.NewReplacer("{kind}", kind, "{json}", json, "{text}", text)
	return insert.Replace("coalesce(" + strings.Join(list, " OR ") + ", false)")
}
