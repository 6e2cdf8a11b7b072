// Package notebook reads and writes notebook files (nbformat 4), puts parameters into them and records what a kernel
// answers as outputs. It ends at the file: running the cells is the caller's.
package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrFormat reports a file that is no notebook of nbformat 4.
var ErrFormat = errors.New("not a notebook of format 4")

// ErrNoFile reports a place to write to that is a device, a pipe or a folder: a whole file cannot be put there at once.
var ErrNoFile = errors.New("it is there, and no file")

// Notebook is one notebook. Fields that this package does not know are kept as they were read.
type Notebook struct {
	Cells []*Cell
	raw   map[string]any
}

// Cell is one cell. Type is code, markdown or raw.
type Cell struct {
	Type   string
	Source string
	raw    map[string]any
}

// Read reads a notebook from a file.
func Read(path string) (*Notebook, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read notebook: %w", err)
	}
	n, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read notebook %s: %w", path, err)
	}
	return n, nil
}

// Parse reads a notebook from its JSON text.
func Parse(b []byte) (*Notebook, error) {
	n := &Notebook{}
	if err := decode(b, &n.raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if v, _ := n.raw["nbformat"].(json.Number); v != "4" {
		return nil, fmt.Errorf("%w: its nbformat is %v; \"jupyter nbconvert --to notebook\" rewrites an older one", ErrFormat, n.raw["nbformat"])
	}
	cells, ok := n.raw["cells"].([]any)
	if !ok {
		return nil, fmt.Errorf("%w: it has no list of cells", ErrFormat)
	}
	for i, c := range cells {
		raw, ok := c.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%w: cell %d is no object", ErrFormat, i+1)
		}
		kind, _ := raw["cell_type"].(string)
		source, ok := joined(raw["source"])
		if !ok {
			return nil, fmt.Errorf("%w: the source of cell %d is neither text nor a list of lines", ErrFormat, i+1)
		}
		n.Cells = append(n.Cells, &Cell{Type: kind, Source: source, raw: raw})
	}
	return n, nil
}

// decode reads one JSON object, keeping its numbers as they are written. Errors name the line.
func decode(b []byte, into *map[string]any) error {
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // some editors write a byte order mark
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("the file is empty")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch err := d.Decode(into); {
	case errors.As(err, &kind):
		return fmt.Errorf("it is a JSON %s, not an object", kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", 1+bytes.Count(b[:syntax.Offset], []byte("\n")), err)
	case err != nil: // the text has come to its end
		return errors.New("it is cut off: the JSON text has no end")
	case *into == nil:
		return errors.New("it is a JSON null, not an object")
	}
	if rest := bytes.TrimSpace(b[d.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("line %d: there is more after the notebook's end", 1+bytes.Count(b[:d.InputOffset()], []byte("\n")))
	}
	return nil
}

// Language returns the language that the notebook's metadata name, in lower case; "" where they name none.
func (n *Notebook) Language() string {
	meta, _ := n.raw["metadata"].(map[string]any)
	spec, _ := meta["kernelspec"].(map[string]any)
	info, _ := meta["language_info"].(map[string]any)
	for _, v := range []any{spec["language"], info["name"]} {
		if l, ok := v.(string); ok && l != "" {
			return strings.ToLower(l)
		}
	}
	return ""
}

// Write writes the notebook to a file as Jupyter does (keys sorted, one space of indentation), whole or not at all.
func (n *Notebook) Write(path string) error {
	b, err := n.Marshal()
	if err != nil {
		return fmt.Errorf("write notebook %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write notebook %s: %w", path, ErrNoFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write notebook: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write notebook: %w", err)
	}
	defer os.Remove(temp.Name()) // gone already where the rename succeeded
	_, werr := temp.Write(b)
	if err := errors.Join(werr, temp.Chmod(mode(path)), temp.Close()); err != nil {
		return fmt.Errorf("write notebook %s: %w", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("write notebook: %w", err)
	}
	return nil
}

// mode is the mode of the file that stood there, or the usual one.
func mode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// Marshal returns the notebook's JSON text.
func (n *Notebook) Marshal() ([]byte, error) {
	cells := []any{}
	for _, c := range n.Cells {
		c.raw["cell_type"] = c.Type
		c.raw["source"] = lines(c.Source)
		cells = append(cells, c.raw)
	}
	n.raw["cells"] = cells
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(n.raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// NewCode returns a code cell without outputs. The id names it within the notebook: letters, digits, "-" and "_".
func NewCode(id, source string, tags ...string) *Cell {
	c := &Cell{Type: "code", Source: source, raw: map[string]any{
		"id": id, "metadata": map[string]any{}, "execution_count": nil, "outputs": []any{},
	}}
	if len(tags) > 0 {
		c.raw["metadata"] = map[string]any{"tags": tags}
	}
	return c
}

// Tagged reports whether the cell carries a tag.
func (c *Cell) Tagged(tag string) bool {
	meta, _ := c.raw["metadata"].(map[string]any)
	switch tags := meta["tags"].(type) {
	case []any:
		return slices.Contains(tags, any(tag))
	case []string:
		return slices.Contains(tags, tag)
	}
	return false
}

// joined is the text of a field that nbformat allows as one string or as a list of lines; ok is false for anything else.
func joined(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for _, l := range v {
			s, ok := l.(string)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

// lines is text as nbformat's list of lines, each but the last with its newline.
func lines(s string) []string {
	if s == "" {
		return []string{}
	}
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}
