package display

import (
	"fmt"
	"html"
	"strings"

	"cancha/internal/cellio"
)

// Beside shows values beside each other, and below each other where the page is too narrow: a table and a chart of it. Each is shown as Of
// shows it, in HTML, as an image or as text; the texts follow each other.
func Beside(values ...any) Bundle {
	var page, text strings.Builder
	page.WriteString(`<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start">`)
	for i, v := range values {
		d := Of(v)
		if i > 0 {
			text.WriteString("\n\n")
		}
		plain, _ := d.Data[mimeText].(string)
		text.WriteString(plain)
		fmt.Fprintf(&page, `<div style="min-width:0">%s</div>`, onPage(d, plain))
	}
	page.WriteString("</div>")
	return Bundle{Data: map[string]any{mimeHTML: page.String(), mimeText: text.String()}}
}

// onPage is a display as a part of a page.
func onPage(d cellio.Display, plain string) string {
	if source, ok := d.Data[mimeHTML].(string); ok {
		return source
	}
	encoded, ok := d.Data[mimePNG].(string)
	if !ok {
		return "<pre>" + html.EscapeString(plain) + "</pre>"
	}
	width := ""
	if settings, ok := d.Metadata[mimePNG].(map[string]any); ok && settings["width"] != nil {
		width = fmt.Sprintf(` width="%v"`, settings["width"])
	}
	alt, _, _ := strings.Cut(plain, "\n")
	return fmt.Sprintf(`<img alt="%s" style="max-width:100%%" src="data:image/png;base64,%s"%s>`, html.EscapeString(alt), encoded, width)
}
