package compile

import (
	"fmt"
	"slices"
	"strings"

	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// reads is what a query reads of a record, or of the elements of an array: each path once, as the JSON of what is there, and from that in each
// kind that it is wanted in. What is read is known only when all steps have been compiled, so it is written down then (raw, typed).
type reads struct {
	shape  plan.Shape
	places []*place
	get    func(parts []stream.Part, as string) string // SQL of what lies at a path, as a type of Spark's
	inside string                                      // before the name of a column: that of the struct which holds an element
}

// place is a path of a record.
type place struct {
	path   string
	parts  []stream.Part
	text   bool // what is there is wanted as a text, if it is one
	kinds  bool // of which kind it is, is asked
	typed  []stream.Kind
	demand []stream.Kind // what must be there, if anything is; else the record is bad
}

// The columns that a place has.
func (p *place) json() string  { return p.path + "#json" }
func (p *place) texts() string { return p.path + "#text" }
func (p *place) kind() string  { return p.path + "#kind" }
func (p *place) column(k stream.Kind) string {
	return p.path + [...]string{"#null", "#bool", "#int", "#number", "#string", "#time", "#json", "#any"}[k]
}

// at is a path as a node of the wanted kind.
func (r *reads) at(path string, want stream.Kind) (node, error) {
	p, err := r.place(path)
	if err != nil {
		return node{}, err
	}
	switch want {
	case stream.Int:
		want = stream.Float
	case stream.JSON, stream.Null:
		want = stream.Any
	}
	if !slices.Contains(p.typed, want) {
		p.typed = append(p.typed, want)
	}
	n := node{kind: want, sql: quoted(r.inside + p.column(want))}
	if want == stream.Any {
		n.of = &origin{in: r, path: path, live: true}
		return n, nil
	}
	r.demand(path, want)
	return n, nil
}

// place is the place of a path, made if it is new.
func (r *reads) place(path string) (*place, error) {
	if i := slices.IndexFunc(r.places, func(p *place) bool { return p.path == path }); i >= 0 {
		return r.places[i], nil
	}
	p := &place{path: path}
	if path != "" {
		var err error
		if p.parts, err = stream.ParsePath(path); err != nil {
			return nil, fmt.Errorf("spark: %w", err)
		}
	}
	if r.shape.Kind == "text" && path != "text" {
		return nil, fmt.Errorf(`spark: a text has no field %q; it is Field("text") as a whole`, path)
	}
	for _, parts := range r.paths(p) {
		if _, err := variantPath(parts); err != nil {
			return nil, err
		}
	}
	r.places = append(r.places, p)
	return p, nil
}

// demand notes what must be at a path that is there.
func (r *reads) demand(path string, want stream.Kind) {
	p, err := r.place(path)
	if err == nil && want != stream.Any && !slices.Contains(p.demand, want) {
		p.demand = append(p.demand, want)
	}
}

// textAt is the text at a path, absent where something else is.
func (r *reads) textAt(path string) string {
	p, _ := r.place(path)
	p.text = true
	return fmt.Sprintf("CASE WHEN %s THEN %s END", isTextIn(quoted(r.inside+p.json())), quoted(r.inside+p.texts()))
}

// kindAt is of which of these kinds what lies at a path is: the condition that it is of one, or absent.
func (r *reads) kindAt(path string, kinds []stream.Kind) string {
	p, _ := r.place(path)
	p.text, p.kinds = true, true
	name := func(column string) string { return quoted(r.inside + column) }
	return ofKinds(kinds, name(p.kind()), name(p.json()), name(p.texts()))
}

// variantPath is a path as variant_get takes it. The quoted form knows no escapes.
func variantPath(parts []stream.Part) (string, error) {
	path := "$"
	for _, part := range parts {
		switch name := part.Name; {
		case part.Index >= 0:
			path += fmt.Sprintf("[%d]", part.Index)
		case !strings.ContainsAny(name, ".["):
			path += "." + name
		case !strings.ContainsAny(name, `"?\`):
			path += `["` + name + `"]`
		default:
			return "", fmt.Errorf("spark: the name %q is one that Spark's paths cannot say; read the whole object that it is in", name)
		}
	}
	return path, nil
}

// within is what lies at a path in a VARIANT.
func within(variant string, parts []stream.Part, as string) string {
	path, _ := variantPath(parts) // was looked at when its place was made
	if path == "$" && as == "variant" {
		return variant
	}
	return fmt.Sprintf("variant_get(%s, %s, '%s')", variant, quote(path), as)
}

// paths are where a place is found: at its own path, and in flattened records also at its names joined.
func (r *reads) paths(p *place) [][]stream.Part {
	end := len(p.parts)
	for end > 1 && p.parts[end-1].Index >= 0 {
		end--
	}
	if r.shape.Flat == "" || end < 2 || r.beside(p.parts) {
		return [][]stream.Part{p.parts}
	}
	names := make([]string, end)
	for i := range names {
		names[i] = p.parts[i].Name
	}
	flat := append([]stream.Part{{Name: strings.Join(names, r.shape.Flat), Index: -1}}, p.parts[end:]...)
	return [][]stream.Part{p.parts, flat}
}

// beside tells whether a path is found beside the envelope.
func (r *reads) beside(parts []stream.Part) bool {
	return r.shape.Envelope != "" && slices.Contains(r.shape.Beside, parts[0].Name)
}

// found is what lies at a place, as a type of Spark's.
func (r *reads) found(p *place, as string) string {
	var gets []string
	for _, parts := range r.paths(p) {
		gets = append(gets, r.get(parts, as))
	}
	if len(gets) == 1 {
		return gets[0]
	}
	return "coalesce(" + strings.Join(gets, ", ") + ")"
}

// raw are the JSON of what is at each place, and its text and kind where that is wanted, each with its name.
func (r *reads) raw() (sqls, names []string) {
	for _, p := range r.places {
		sqls, names = append(sqls, "to_json("+r.found(p, "variant")+")"), append(names, p.json())
		if r.needsText(p) {
			sqls, names = append(sqls, r.found(p, "string")), append(names, p.texts())
		}
		if p.kinds {
			sqls, names = append(sqls, "schema_of_variant("+r.found(p, "variant")+")"), append(names, p.kind())
		}
	}
	return sqls, names
}

func (r *reads) needsText(p *place) bool {
	return p.text || slices.ContainsFunc(slices.Concat(p.typed, p.demand), func(k stream.Kind) bool {
		return k == stream.Text || k == stream.Time || r.shape.TextNumbers
	})
}

// values are the columns of all places in the kinds that they are wanted in. A place that is wanted as it may be keeps its JSON and text
// beside.
func (r *reads) values() (exprs []*protocol.Expr) {
	for _, p := range r.places {
		for _, want := range p.typed {
			exprs = append(exprs, named(r.value(p, want), r.inside+p.column(want)))
		}
		if p.text {
			exprs = append(exprs, named(r.column(p.json()), r.inside+p.json()), named(r.column(p.texts()), r.inside+p.texts()))
		}
		if p.kinds {
			exprs = append(exprs, named(r.column(p.kind()), r.inside+p.kind()))
		}
	}
	return exprs
}

// column is a column of raw, where it lies.
func (r *reads) column(name string) string {
	if r.inside == "" {
		return quoted(name)
	}
	return quoted(r.inside) + "." + quoted(name)
}

// value is what lies at a place in one kind.
func (r *reads) value(p *place, want stream.Kind) string {
	json, s := r.column(p.json()), r.column(p.texts())
	switch want {
	case stream.Float:
		if r.shape.TextNumbers {
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", isTextIn(json), numberOf(s), numberIn(json))
		}
		return numberIn(json)
	case stream.Text:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", isTextIn(json), s)
	case stream.Time:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", isTextIn(json), instant(s))
	case stream.Bool:
		truth := json
		if r.shape.TextNumbers {
			truth = fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", isTextIn(json), s, json)
		}
		return fmt.Sprintf("CASE %s WHEN 'true' THEN true WHEN 'false' THEN false END", truth)
	}
	return fmt.Sprintf("CASE WHEN %[1]s = 'null' THEN NULL WHEN %[2]s AND try_cast(%[1]s AS BIGINT) IS NULL THEN %[3]s ELSE %[1]s END",
		json, isNumberIn(json), printed(fmt.Sprintf("try_cast(%s AS DOUBLE)", json)))
}

// fits are the conditions under which a record has at each place what must be there.
func (r *reads) fits() (conditions []string) {
	for _, p := range r.places {
		json := r.column(p.json())
		for _, want := range p.demand {
			conditions = append(conditions, fmt.Sprintf("(%s IS NULL OR %s)", json, r.fit(p, want)))
		}
		if steps := r.way(p); len(p.demand) > 0 && len(steps) > 0 {
			// Of an OR Spark computes first what stands in it several times, such as the JSON of all that the path lies in, and for each record.
			conditions = append(conditions, fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN true ELSE (%s) END", json, strings.Join(steps, " AND ")))
		}
	}
	return conditions
}

// largest bounds numbers, as the local engine does: their squares are summed up.
const largest = "1E150D"

// fit is the condition that what is at a place, where something is, is of a kind.
func (r *reads) fit(p *place, want stream.Kind) string {
	json := r.column(p.json())
	fits := fmt.Sprintf("%s IS NOT NULL", r.value(p, want))
	if want == stream.Float {
		fits = fmt.Sprintf("abs(%s) <= %s", r.value(p, want), largest)
	}
	empty := ""
	if r.shape.TextNumbers && (want == stream.Float || want == stream.Bool) {
		empty = fmt.Sprintf(" OR %s = '\"\"'", json)
	}
	return fmt.Sprintf("%s = 'null'%s OR coalesce(%s, false)", json, empty, fits)
}

// way are the conditions that what leads to a place that is not there could lead to it. It begins with an object: a record, or an element, unless those are
// read as they are.
func (r *reads) way(p *place) (steps []string) {
	first := 1
	if slices.ContainsFunc(r.places, func(p *place) bool { return len(p.parts) == 0 }) {
		first = 0
	}
	for i := first; i < len(p.parts); i++ {
		above := fmt.Sprintf("left(to_json(%s), 1)", r.get(p.parts[:i], "variant"))
		steps = append(steps, fmt.Sprintf("coalesce(%s %s, true)", above, r.leads(p.parts[:i])))
	}
	return steps
}

// leads is what the first letter of the JSON must be that lies on the way to places: that of an object where members of it are read, and that of an array where
// elements are. What is read itself, too, may be neither.
func (r *reads) leads(on []stream.Part) string {
	whole, members, elements := false, false, false
	for _, p := range r.places {
		switch n := len(on); {
		case len(p.parts) < n || !slices.Equal(p.parts[:n], on):
		case len(p.parts) == n:
			whole = true
		case p.parts[n].Index < 0:
			members = true
		default:
			elements = true
		}
	}
	switch {
	case whole && members && elements:
		return "<> ''" // which it never is
	case whole && members:
		return "<> '['"
	case whole:
		return "<> '{'"
	}
	var may []string
	if members {
		may = append(may, "'{'")
	}
	if elements {
		may = append(may, "'['")
	}
	may = append(may, "'n'")
	if r.shape.Flat != "" {
		may = append(may, `'"'`) // flattened records have a name there
	}
	return "IN (" + strings.Join(may, ", ") + ")"
}
