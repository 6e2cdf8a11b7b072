package symbols

import (
	"encoding/json"
)

// Docs returns a package's doc comments: under "" its own, under "Name" and "Type.Name" those of what it exports, fields
// and methods of interfaces included. Package builtin holds the names of the language itself. A package that no cell may
// import has none.
func Docs(path string) map[string]string {
	for _, g := range groups() {
		if g.docs == "" {
			continue
		}
		content, _, err := open(g.docs, path)
		if err != nil {
			continue
		}
		var comments map[string]string
		err = json.NewDecoder(content).Decode(&comments)
		content.Close()
		if err == nil {
			return comments
		}
	}
	return nil
}
