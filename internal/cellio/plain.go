package cellio

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Plain returns text as it may be shown where nobody has asked for colours: control characters, of which terminals and notebooks make
// colours, links and other orders, and those that turn the direction of what follows, stand as Go writes them in a string. Ends of lines
// and tabs stay.
func Plain(text string) string {
	first := strings.IndexFunc(text, orders)
	if first < 0 {
		return text
	}
	b := []byte(text[:first])
	for i := first; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case !orders(r), r == '\r' && strings.HasPrefix(text[i+size:], "\n"):
			b = append(b, text[i:i+size]...)
		default:
			quoted := strconv.AppendQuoteRuneToASCII(nil, r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		i += size
	}
	return string(b)
}

// orders tells the control characters of ASCII and of Latin-1 but for line ends and tabs, and the embeddings, overrides and isolates of
// bidirectional text (Unicode Standard Annex 9).
func orders(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7f <= r && r < 0xa0, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return true
	}
	return false
}
