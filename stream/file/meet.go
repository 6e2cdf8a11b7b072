package file

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// meet tells whether there is a name that two patterns of names match (see [filepath.Match]).
func meet(a, b string) bool {
	first, second := pieces(a), pieces(b)
	can := make([]bool, len(second)+1) // by how much of the second is left, for what is left of the first
	for i := len(first); i >= 0; i-- {
		below := slices.Clone(can) // for one piece less of the first
		for k := len(second); k >= 0; k-- {
			switch {
			case i == len(first):
				can[k] = k == len(second) || second[k] == "*" && can[k+1]
			case first[i] == "*":
				can[k] = below[k] || k < len(second) && can[k+1]
			case k == len(second):
				can[k] = false
			case second[k] == "*":
				can[k] = below[k] || can[k+1]
			default:
				can[k] = below[k+1] && share(first[i], second[k])
			}
		}
	}
	return can[0]
}

// pieces cuts a pattern into stars and patterns of one character.
func pieces(pattern string) []string {
	var all []string
	for pattern != "" {
		_, n := utf8.DecodeRuneInString(pattern)
		switch pattern[0] {
		case '[':
			n = closing(pattern)
		case '\\':
			_, escaped := utf8.DecodeRuneInString(pattern[1:])
			n += escaped
		}
		all, pattern = append(all, pattern[:n]), pattern[n:]
	}
	return all
}

// closing is where a class of characters ends that a pattern begins with. One without an end is refused elsewhere, and is the rest here.
func closing(pattern string) int {
	for i := 1; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == ']' && strings.TrimPrefix(pattern[:i], "[^") != "" && i > 1:
			return i + 1
		}
	}
	return len(pattern)
}

// share tells whether there is a character that two patterns of one match. Those beyond ASCII are tried where one of the two names them.
func share(a, b string) bool {
	tried := []rune(a + b)
	for r := rune(1); r < 0x80; r++ {
		tried = append(tried, r)
	}
	return slices.ContainsFunc(tried, func(r rune) bool {
		first, _ := filepath.Match(a, string(r))
		second, _ := filepath.Match(b, string(r))
		return first && second
	})
}
