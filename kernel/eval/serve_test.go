//go:build !workspace

package eval

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// untold is an evaluator whose cells' results are no JSON.
type untold struct{ Evaluator }

func (untold) Start(cell.Request) (run func() cell.Result) {
	return func() cell.Result {
		return cell.Result{Status: cell.OK, UserExpressions: map[string]map[string]any{"x": {"data": func() {}}}}
	}
}

func (untold) Close() {}

// TestTheEndOfACellIsTold: whatever its result is, the kernel does not wait for ever.
func TestTheEndOfACellIsTold(t *testing.T) {
	ours, theirs := net.Pipe()
	kernel, engine := cellio.NewConn(ours), cellio.NewConn(theirs)
	served := make(chan error, 1)
	go func() { served <- Serve(engine, cellio.NewOutlet(engine.Send), untold{}) }()
	body, err := json.Marshal(cell.Request{Cell: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Send(cellio.Frame{Kind: cellio.KindExecute, Cell: 7, Body: body}); err != nil {
		t.Fatal(err)
	}
	f, err := kernel.Receive()
	if err != nil {
		t.Fatal(err)
	}
	var result cell.Result
	if err := json.Unmarshal(f.Body, &result); err != nil {
		t.Fatal(err)
	}
	if f.Kind != cellio.KindDone || f.Cell != 7 || result.Status != cell.Failed || result.Err == nil {
		t.Errorf("got %s of cell %d, %+v; want that the cell has ended", f.Kind, f.Cell, result)
	}
	if err := kernel.Send(cellio.Frame{Kind: cellio.KindExit}); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestLongPanics: what a panic says is cut on a rune's edge.
func TestLongPanics(t *testing.T) {
	if got := shortened("short"); got != "short" {
		t.Errorf("got %q", got)
	}
	got := shortened("x" + strings.Repeat("é", 1<<20))
	if !utf8.ValidString(got) || len(got) > 65<<10 || !strings.HasSuffix(got, "é… (2097153 bytes)") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-30:])
	}
}
