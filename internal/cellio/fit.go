package cellio

import "unicode/utf8"

// fit returns how many bytes at the beginning of text, whole runes, take at most room bytes as encoding/json writes them.
func fit(text []byte, room int) int {
	if 6*len(text) <= room {
		return len(text)
	}
	for i := 0; i < len(text); {
		size, cost := 1, 1
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			size, cost = runeCost(text[i:])
		case c == '\n', c == '\t', c == '\r', c == '"', c == '\\', c == '\b', c == '\f':
			cost = 2
		case c < ' ', c == '<', c == '>', c == '&':
			cost = 6
		}
		if room -= cost; room < 0 {
			return i
		}
		i += size
	}
	return len(text)
}

func runeCost(text []byte) (size, cost int) {
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
		return size, 6
	}
	return size, size
}

// wholeRunes returns how many bytes of p end on a rune's edge: at most three bytes are left over.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(p[i]) {
			continue
		}
		if !utf8.FullRune(p[i:]) {
			return i
		}
		break
	}
	return len(p)
}
