package table

import (
	"fmt"
	"html"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cancha/internal/cellio"
)

// What is shown of a table at most.
const (
	shownRows    = 10
	shownColumns = 20
	shownRunes   = 60 // of one value
	maxDecimals  = 4
)

// none stands for a missing value.
const none = "–"

// Render shows slices of structs and maps as tables. Types that have words of their own (fmt.Stringer, error) keep them. The
// second result is false for everything else.
func Render(v any) (cellio.Display, bool) {
	switch v.(type) {
	case nil, fmt.Stringer, error:
		return cellio.Display{}, false
	}
	r := reflect.ValueOf(v)
	if !worthATable(r) {
		return cellio.Display{}, false
	}
	return cellio.Display{Data: excerpt(r).MIMEBundle()}, true
}

// excerpt converts only what is shown. Columns of one name stand side by side: to look at them is no harm.
func excerpt(r reflect.Value) (t *Table) {
	switch {
	case r.Kind() == reflect.Map:
		t = fromMap(r, shownRows)
	case r.Kind() == reflect.Slice && r.Len() > shownRows:
		t = fromList(r.Slice(0, shownRows))
	default:
		t = fromList(r)
	}
	t.total = r.Len()
	return t
}

func worthATable(r reflect.Value) bool {
	switch r.Kind() {
	case reflect.Map:
		return r.Len() > 0
	case reflect.Slice, reflect.Array:
		elem := r.Type().Elem()
		for elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		return isRecord(elem) && !elem.Implements(reflect.TypeFor[fmt.Stringer]())
	}
	return false
}

// MIMEBundle is the table's first rows as text/html, with inline styles only, and as aligned text/plain.
func (t *Table) MIMEBundle() map[string]any {
	s := t.shown()
	return map[string]any{"text/html": s.html(), "text/plain": s.text()}
}

// String is the table's first rows as aligned text.
func (t *Table) String() string { return t.shown().text() }

// view is what is shown: texts by column and row, already cut.
type view struct {
	names   []string
	types   []string
	numeric []bool
	cells   [][]string // by column
	rows    int
	moreRows,
	moreColumns bool
	caption string
}

func (t *Table) shown() view {
	total := max(t.total, t.rows)
	v := view{rows: min(t.rows, shownRows), moreColumns: len(t.columns) > shownColumns}
	v.moreRows = t.rows > v.rows || total > v.rows && v.rows == shownRows
	for i := range min(len(t.columns), shownColumns) {
		c := t.columns[i]
		v.names = append(v.names, c.name)
		v.types = append(v.types, c.kind.String())
		v.numeric = append(v.numeric, c.kind == integer || c.kind == float)
		v.cells = append(v.cells, c.shown(v.rows))
	}
	rows := "rows"
	if total == 1 {
		rows = "row"
	}
	v.caption = fmt.Sprintf("%s %s × %d", group(total), rows, len(t.columns))
	if total > v.rows {
		v.caption = fmt.Sprintf("%s of %s", group(v.rows), v.caption)
	}
	return v
}

// shown is the first n values as text. The numbers of a column have the same decimals; among values of several kinds each has its own.
func (c *column) shown(n int) []string {
	texts := make([]string, n)
	form := c.form(n)
	for i := range texts {
		switch v := c.value(i).(type) {
		case nil:
			texts[i] = none
		case float64:
			texts[i] = form(v)
		case time.Time:
			texts[i] = v.Format("2006-01-02 15:04:05.999 -07")
			if v.Location() == time.UTC {
				texts[i] = v.Format("2006-01-02 15:04:05.999")
			}
		default:
			texts[i] = cut(c.csv(i))
		}
	}
	return texts
}

// form is how the floats among the first n values are written.
func (c *column) form(n int) func(v float64) string {
	if c.kind != float {
		return func(v float64) string { return written([]float64{v})(v) }
	}
	var values []float64
	for i := range n {
		if !c.isMissing(i) {
			values = append(values, c.nums[i])
		}
	}
	if c.summary && mixed(values) {
		limit := plainLimit(values)
		return func(v float64) string { return decimal(v, min(maxDecimals, max(0, maxDecimals-magnitude(v))), limit) }
	}
	return written(values)
}

// written gives numbers of one column the least decimals with which each is shown to a ten-thousandth.
func written(values []float64) func(v float64) string {
	limit, decimals := plainLimit(values), 0
	for _, v := range values {
		if plainly(v, limit) {
			decimals = max(decimals, decimalsOf(v))
		}
	}
	return func(v float64) string { return decimal(v, decimals, limit) }
}

// decimalsOf is the least number with which v is shown to a ten-thousandth: as many as tell it from other numbers, where those are fewer.
func decimalsOf(v float64) int {
	if _, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), "."); len(fraction) <= maxDecimals {
		return len(fraction)
	}
	_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', maxDecimals, 64), ".")
	return len(strings.TrimRight(fraction, "0"))
}

// mixed tells whether large and small numbers stand in one column of a description of columns. Then each has its own decimals, about five
// digits in all. Values themselves are not rounded so: 18250.5 beside 9.25 is a price.
func mixed(values []float64) bool {
	large, small := false, false
	for _, v := range values {
		if a := math.Abs(v); plainly(a, exactly) && a != 0 {
			large, small = large || a >= 10_000, small || a < 10
		}
	}
	return large && small
}

// magnitude is the power of ten of v's first digit, not below 0.
func magnitude(v float64) int {
	return max(0, int(math.Log10(max(math.Abs(v), 1))))
}

// Where numbers begin to be written with a power of ten and four digits: a billion, or what a float64 can tell apart by ones.
const (
	billion = 1e9
	exactly = 1e15
)

// plainLimit is where the numbers of a column begin to be written with a power of ten. A column whose large ones have more than four digits
// keeps all of them: 1234567891 and 1234567892 are two amounts.
func plainLimit(values []float64) float64 {
	for _, v := range values {
		if a := math.Abs(v); a >= billion && a < exactly && !fourDigits(a) {
			return exactly
		}
	}
	return billion
}

// fourDigits tells whether a power of ten with four digits is the number itself.
func fourDigits(v float64) bool {
	same, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return err == nil && same == v
}

// plainly tells the numbers that are written without a power of ten.
func plainly(v, limit float64) bool {
	a := math.Abs(v)
	return a == 0 || a >= 1e-3 && a < limit
}

func decimal(v float64, decimals int, limit float64) string {
	if !plainly(v, limit) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// cut makes one line of at most shownRunes of a value.
func cut(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
	if utf8.RuneCountInString(s) > shownRunes {
		return string([]rune(s)[:shownRunes-1]) + "…"
	}
	return s
}

// group writes n with a comma every three digits.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// text aligns the columns: numbers right, all else left.
func (v view) text() string {
	var b strings.Builder
	widths := make([]int, len(v.names))
	for k, name := range v.names {
		widths[k] = utf8.RuneCountInString(name)
		for _, cell := range v.cells[k] {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	v.line(&b, widths, func(k int) string { return v.names[k] })
	for i := range v.rows {
		v.line(&b, widths, func(k int) string { return v.cells[k][i] })
	}
	if v.moreRows {
		b.WriteString("…\n")
	}
	b.WriteString(v.caption)
	return b.String()
}

func (v view) line(b *strings.Builder, widths []int, cell func(k int) string) {
	var line strings.Builder
	for k, width := range widths {
		if k > 0 {
			line.WriteString("  ")
		}
		s := cell(k)
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(s))
		if v.numeric[k] {
			line.WriteString(pad + s)
		} else {
			line.WriteString(s + pad)
		}
	}
	if v.moreColumns {
		line.WriteString("  …")
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// html has no style sheet and no attribute that an untrusted notebook loses.
func (v view) html() string {
	var b strings.Builder
	b.WriteString(`<table style="border-collapse:collapse">` + "\n")
	fmt.Fprintf(&b, `<caption style="caption-side:bottom;text-align:left;white-space:nowrap;padding-top:4px">%s</caption>`+"\n", html.EscapeString(v.caption))
	b.WriteString("<thead><tr>")
	for k, name := range v.names {
		v.cell(&b, k, "th", ` scope="col" title="`+v.types[k]+`"`, name)
	}
	v.more(&b, "th")
	b.WriteString("</tr></thead>\n<tbody>\n")
	for i := range v.rows {
		b.WriteString("<tr>")
		for k := range v.names {
			v.cell(&b, k, "td", "", v.cells[k][i])
		}
		v.more(&b, "td")
		b.WriteString("</tr>\n")
	}
	if v.moreRows {
		b.WriteString("<tr>")
		for k := range v.names {
			v.cell(&b, k, "td", "", "…")
		}
		v.more(&b, "td")
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>")
	return b.String()
}

func (v view) cell(b *strings.Builder, k int, tag, attributes, text string) {
	align := "left"
	if v.numeric[k] {
		align = "right"
	}
	fmt.Fprintf(b, `<%s%s style="text-align:%s;white-space:nowrap;padding:2px 8px">%s</%s>`, tag, attributes, align, html.EscapeString(text), tag)
}

func (v view) more(b *strings.Builder, tag string) {
	if v.moreColumns {
		fmt.Fprintf(b, "<%s>…</%s>", tag, tag)
	}
}
