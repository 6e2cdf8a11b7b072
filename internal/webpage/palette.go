package webpage

import (
	_ "embed" // the palette
	"net/http"
)

//go:embed palette.css
var palette string

// ServePalette answers with the colours, in both themes, as custom properties of CSS.
func ServePalette(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write([]byte(palette)) // whoever asked has gone
}
