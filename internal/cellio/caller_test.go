package cellio

import (
	"strings"
	"testing"
)

// textual is a host that asks a panic's value for its text, as an engine does.
type textual struct{ Host }

func (textual) Fault(p any) *Fault { return &Fault{Text: "panic: " + p.(error).Error()} }

type mute struct{}

func (mute) Error() string { panic("no text") }

// A panic whose value panics, too, when it is asked for its text is told by its type, in an engine and outside.
func TestFaultOfMute(t *testing.T) {
	t.Cleanup(func() { OnCalls(nil) })
	for name, h := range map[string]Host{"outside": nil, "in an engine": textual{}} {
		OnCalls(h)
		if f := FaultOf(mute{}); f == nil || !strings.HasPrefix(f.Text, "panic: ") || f.Stops {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}
