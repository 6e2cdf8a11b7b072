package stream

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What is shown of a result at most.
const (
	shownRows    = 20
	shownWindows = 10 // rows of statistics, which are wide
	shownColumns = 20
)

// shownTable is a small table of texts, shown as HTML with inline styles only, and as aligned plain text.
type shownTable struct {
	names   []string
	rows    [][]string
	left    int    // columns from the left that hold names rather than numbers
	texts   []bool // where columns differ: those that hold names
	caption string // "n of N rows × c" or a title; may have several lines
}

func (t *shownTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// countCaption says how much of a table is shown.
func countCaption(shown, total int64, columns int) string {
	if shown == total {
		return fmt.Sprintf("%s rows × %d", wholeNumber(total), columns)
	}
	return fmt.Sprintf("%s of %s rows × %d", wholeNumber(shown), wholeNumber(total), columns)
}

// bundle is the table as a display shows it.
func (t *shownTable) bundle() map[string]any {
	return map[string]any{"text/html": t.html(), "text/plain": t.text()}
}

func (t *shownTable) html() string {
	const cell = `padding:2px 6px;white-space:nowrap;text-align:%s` // times and names in one line
	var b strings.Builder
	b.WriteString(`<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">`)
	fmt.Fprintf(&b, `<caption style="caption-side:bottom;text-align:left;white-space:nowrap;padding-top:4px">%s</caption>`, strings.ReplaceAll(html.EscapeString(t.caption), "\n", "<br>"))
	write := func(cells []string, tag string) {
		b.WriteString("<tr>")
		for i, text := range cells {
			fmt.Fprintf(&b, `<%s style="`+cell+`">%s</%s>`, tag, t.align(i), html.EscapeString(text), tag)
		}
		b.WriteString("</tr>")
	}
	if len(t.names) > 0 {
		b.WriteString("<thead>")
		write(t.names, "th")
		b.WriteString("</thead>")
	}
	b.WriteString("<tbody>")
	for _, row := range t.rows {
		write(row, "td")
	}
	b.WriteString("</tbody></table>")
	return b.String()
}

// isText tells whether a column holds names, which stand to the left.
func (t *shownTable) isText(column int) bool {
	return column < t.left || column < len(t.texts) && t.texts[column]
}

func (t *shownTable) align(column int) string {
	if t.isText(column) {
		return "left"
	}
	return "right"
}

func (t *shownTable) text() string {
	all := t.rows
	if len(t.names) > 0 {
		all = append([][]string{t.names}, t.rows...)
	}
	var widths []int
	for _, row := range all {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if i > 0 {
				line.WriteString("  ")
			}
			if t.isText(i) {
				line.WriteString(text + pad)
			} else {
				line.WriteString(pad + text)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	b.WriteString(t.caption)
	return b.String()
}

// none stands for a value that is absent.
const none = "–"

// fixedNumber writes a number with so many decimals, as the others of its column.
func fixedNumber(v float64, decimals int) string {
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// rateNumber writes a rate without decimals: they would be noise.
func rateNumber(perSecond float64) string { return wholeNumber(int64(math.Round(perSecond))) + " /s" }

// seconds writes how long a query has run.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

func shortTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// clock is an instant within a table whose caption or neighbours tell the day.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// shortText cuts what is too long for a cell of a table.
func shortText(s string) string {
	const most = 80
	s = strings.ToValidUTF8(s, "�")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// wholeNumber writes n with a comma every three digits.
func wholeNumber(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
