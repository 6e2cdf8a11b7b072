package check

import (
	"fmt"
	"strings"
	"testing"
)

// TestRemarksAreBounded: a table of texts with the same fault in each row gets some remarks and their number.
func TestRemarksAreBounded(t *testing.T) {
	s := NewScope(library())
	c, err := s.Check("cell 1", "import \"fmt\"\n"+strings.Repeat("fmt.Printf(\"%d\", \"x\")\n", 30))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Remarks), 11; got != want {
		t.Fatalf("%d remarks, want %d: %q", got, want, c.Remarks)
	}
	if got, want := c.Remarks[10], "cell 1: 20 more remarks of this kind"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRefusedCellHasNoRemarks: an error of the compiler is all that its author reads.
func TestRefusedCellHasNoRemarks(t *testing.T) {
	_, err := NewScope(library()).Check("cell 1", "import \"fmt\"\nfmt.Printf(\"%d\", \"x\")\nnope()")
	if got, want := fmt.Sprint(err), "cell 1:3:1: undefined: nope"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkPrintingCell is the check of cells that print, beside that of one that does not.
func BenchmarkPrintingCell(b *testing.B) {
	for _, bb := range []struct{ name, code string }{
		{"nothing printed", "x := strings.ToUpper(\"x\")"},
		{"a line", "fmt.Println(\"x\")"},
		{"a format", "fmt.Printf(\"%s\\n\", \"x\")"},
		{"forty formats", strings.Repeat("fmt.Printf(\"%s %d\\n\", \"x\", 1)\n", 40)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := NewScope(library())
			imports, err := s.Check("cell 1", "import (\"fmt\"; \"strings\")\nvar _, _ = fmt.Sprint, strings.ToUpper")
			if err != nil {
				b.Fatal(err)
			}
			s.Commit(imports)
			for b.Loop() {
				if _, err := s.Check("cell 2", bb.code); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
