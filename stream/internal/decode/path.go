package decode

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxElement bounds the elements of an array that a path can name.
const maxElement = 1000

// Part is one step of a path: a member by its name, or an element by its place.
type Part struct {
	Name  string
	Index int // of an element; -1 for a member
}

// ParsePath reads a path such as user.address.city, items[0].sku, items.0.sku or labels["a.b"].
func ParsePath(path string) ([]Part, error) {
	var parts []Part
	rest := path
	for first := true; rest != "" || first; first = false {
		var part Part
		var err error
		switch {
		case strings.HasPrefix(rest, "["):
			part, rest, err = bracket(rest)
		case first:
			part, rest, err = member(rest)
		case strings.HasPrefix(rest, "."):
			part, rest, err = member(rest[1:])
		default:
			err = fmt.Errorf("found %q where . or [ was expected", rest)
		}
		if err != nil {
			return nil, fmt.Errorf("path %q: %w; write it as in user.city, items[0].sku or labels[\"a.b\"]", path, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// member reads a name, which ends at the next dot or bracket. One of digits alone names an element.
func member(rest string) (Part, string, error) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == '"' || r == '\\' || r == ']' || unicode.IsControl(r) }) {
		return Part{}, "", fmt.Errorf("%q is no name", name)
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 {
		return element(i, rest[end:])
	}
	return Part{Name: name, Index: -1}, rest[end:], nil
}

// bracket reads [3] or ["a name"].
func bracket(rest string) (Part, string, error) {
	if strings.HasPrefix(rest, `["`) {
		quoted, err := strconv.QuotedPrefix(rest[1:])
		if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
			return Part{}, "", fmt.Errorf("%q has no closing \"]", rest)
		}
		name, err := strconv.Unquote(quoted)
		return Part{Name: name, Index: -1}, rest[len(quoted)+2:], err
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return Part{}, "", fmt.Errorf("%q has no closing ]", rest)
	}
	i, err := strconv.Atoi(rest[1:end])
	if err != nil || i < 0 {
		return Part{}, "", fmt.Errorf("%q is no place in an array, which are 0, 1, 2 and so on", rest[1:end])
	}
	return element(i, rest[end+1:])
}

func element(i int, rest string) (Part, string, error) {
	if i >= maxElement {
		return Part{}, "", fmt.Errorf("element %d is beyond the %d that a path can name; Explode gives each element a row, and [\"%d\"] is the member of that name", i, maxElement, i)
	}
	return Part{Name: strconv.Itoa(i), Index: i}, rest, nil
}
