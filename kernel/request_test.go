package kernel

import (
	"testing"

	"cancha/kernel/wire"
)

func TestCellID(t *testing.T) {
	for _, c := range []struct{ name, metadata, want string }{
		{"JupyterLab", `{"trusted":true,"deletedCells":[],"recordTiming":false,"cellId":"c6b0-41"}`, "c6b0-41"},
		{"none", `{}`, ""},
		{"no text", `{"cellId":7}`, ""},
		{"no object", `[]`, ""},
		{"nothing", ``, ""},
	} {
		r := &request{Message: wire.Message{Metadata: []byte(c.metadata)}}
		if got := r.cellID(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
