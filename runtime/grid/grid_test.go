package grid

import (
	"strings"
	"testing"
)

func TestGrid(t *testing.T) {
	g := Grid{Caption: "Models", Header: []string{"model", "RPS"}, Rows: [][]string{{"forêt <x>", ".1277"}, {"prior", ".2304"}}, Note: "A note."}
	want := "Models\nmodel        RPS\nforêt <x>  .1277\nprior      .2304\nA note."
	if got := g.MIMEBundle()["text/plain"]; got != want {
		t.Errorf("text: got\n%v\nwant\n%v", got, want)
	}
	html := g.MIMEBundle()["text/html"].(string)
	for _, part := range []string{"<table", ">forêt &lt;x&gt;</td>", ">.2304</td>", "text-align:left", "A note."} {
		if !strings.Contains(html, part) {
			t.Errorf("HTML lacks %q: %s", part, html)
		}
	}
}
