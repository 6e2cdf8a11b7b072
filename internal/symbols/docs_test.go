package symbols_test

import (
	"strings"
	"testing"

	"cancha/internal/symbols"
)

func TestDocs(t *testing.T) {
	tests := []struct{ name, path, key, want string }{
		{"package", "strings", "", "UTF-8"},
		{"function", "fmt", "Println", "Println formats using the default formats"},
		{"method", "strings", "Builder.WriteString", "appends the contents of s"},
		{"constructor of a type", "strings", "NewReader", "returns a new"},
		{"method of an interface", "sort", "Interface.Less", "Less reports whether"},
		{"field", "net/http", "Server.ReadTimeout", "maximum duration"},
		{"constant of a group", "math", "Pi", "https://oeis.org/A000796"},
		{"the language's own", "builtin", "append", "appends elements to the end of a slice"},
		{"package that differs by platform", "os", "Args", "command-line arguments"},
		{"library of others", "gonum.org/v1/gonum/stat", "Mean", "weighted mean"},
		{"wing", "cancha/stream", "", "stream"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := symbols.Docs(tt.path)[tt.key]; !strings.Contains(got, tt.want) {
				t.Errorf("%s.%s: got %q, want it to hold %q", tt.path, tt.key, got, tt.want)
			}
		})
	}
	if got := symbols.Docs("no/such/package"); got != nil {
		t.Errorf("docs of no package: %v", got)
	}
}
