// Package grid writes a small table of text twice: as plain text and as HTML. What has few rows and figures of its own, such as a model, shows
// itself with it in a notebook. It ends at the text: what a figure means, and how many digits it deserves, is the
// caller's.
package grid

import (
	"html"
	"strings"
	"unicode/utf8"
)

// Grid is a table. The first column is aligned to the left, all others to the right.
type Grid struct {
	Caption string
	Header  []string
	Rows    [][]string
	Note    string // a line below the table
}

// MIMEBundle returns the grid as "text/plain" and "text/html", the form in which a notebook shows a value. The HTML has
// inline style only: notebooks drop style sheets and scripts of documents they do not trust.
func (g Grid) MIMEBundle() map[string]any {
	return map[string]any{"text/plain": g.Text(), "text/html": g.HTML()}
}

// Text returns the grid with columns padded to the same width, without a final newline.
func (g Grid) Text() string {
	width := g.widths()
	var b strings.Builder
	if g.Caption != "" {
		b.WriteString(g.Caption + "\n")
	}
	for _, row := range append([][]string{g.Header}, g.Rows...) {
		line := ""
		for k, cell := range row {
			gap := strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell))
			if k == 0 {
				line += cell + gap
			} else {
				line += "  " + gap + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString(g.Note)
	return strings.TrimRight(b.String(), "\n")
}

// widths returns the number of characters in the widest cell of each column.
func (g Grid) widths() []int {
	var width []int
	for _, row := range append([][]string{g.Header}, g.Rows...) {
		for k, cell := range row {
			if k == len(width) {
				width = append(width, 0)
			}
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	return width
}

// HTML returns the grid as one table element; all text is escaped.
func (g Grid) HTML() string {
	var b strings.Builder
	b.WriteString(`<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">`)
	if g.Caption != "" {
		b.WriteString(`<caption style="text-align:left;font-weight:bold;padding:4px 0">` + html.EscapeString(g.Caption) + `</caption>`)
	}
	b.WriteString("<thead>")
	writeRow(&b, "th", g.Header)
	b.WriteString("</thead><tbody>")
	for _, row := range g.Rows {
		writeRow(&b, "td", row)
	}
	b.WriteString("</tbody></table>")
	if g.Note != "" {
		b.WriteString(`<div style="font-size:smaller;padding:4px 0">` + html.EscapeString(g.Note) + `</div>`)
	}
	return b.String()
}

// writeRow writes one row of cells of a kind, td or th.
func writeRow(b *strings.Builder, kind string, cells []string) {
	b.WriteString("<tr>")
	for k, cell := range cells {
		align := "right"
		if k == 0 {
			align = "left"
		}
		b.WriteString("<" + kind + ` style="text-align:` + align + `;white-space:nowrap;padding:2px 6px">` + html.EscapeString(cell) + "</" + kind + ">")
	}
	b.WriteString("</tr>")
}
