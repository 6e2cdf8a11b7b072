package check

import (
	"go/scanner"
	"go/token"
)

// Mentioned are the names in a text.
func Mentioned(code string) map[string]bool {
	names := map[string]bool{}
	var scan scanner.Scanner
	scan.Init(token.NewFileSet().AddFile("", -1, len(code)), []byte(code), func(token.Position, string) {}, 0)
	for {
		_, tok, text := scan.Scan()
		switch tok {
		case token.EOF:
			return names
		case token.IDENT:
			names[text] = true
		}
	}
}
