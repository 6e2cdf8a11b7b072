package compile

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// pattern is a regular expression of Go's, for Java.
type pattern struct {
	text     string
	groups   int
	optional map[int]bool // groups that may take no part in a match
}

// javaPattern writes a regular expression anew for Java from how Go reads it: what both write alike they do not mean alike. In Java . leaves
// out five ends of lines, $ stands before the last of them too, and (?i) is ASCII's.
func javaPattern(goPattern string) (*pattern, error) {
	re, err := syntax.Parse(goPattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &pattern{groups: re.MaxCap(), optional: map[int]bool{}}
	var b strings.Builder
	p.write(&b, re, false)
	p.text = b.String()
	return p, nil
}

// wordClass are the letters of words, in both languages ASCII's alone where it is written so.
const wordClass = `[0-9A-Za-z_]`

// write writes one part; maybe tells that it may take no part in a match.
func (p *pattern) write(b *strings.Builder, re *syntax.Regexp, maybe bool) {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`(?!)`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeRune(b, r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		writeClass(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		b.WriteString(`(?s:.)`)
	case syntax.OpBeginLine:
		b.WriteString(`(?<![^\n])`)
	case syntax.OpEndLine:
		b.WriteString(`(?![^\n])`)
	case syntax.OpBeginText:
		b.WriteString(`\A`)
	case syntax.OpEndText:
		b.WriteString(`\z`)
	case syntax.OpWordBoundary:
		fmt.Fprintf(b, `(?:(?<=%[1]s)(?!%[1]s)|(?<!%[1]s)(?=%[1]s))`, wordClass)
	case syntax.OpNoWordBoundary:
		fmt.Fprintf(b, `(?:(?<=%[1]s)(?=%[1]s)|(?<!%[1]s)(?!%[1]s))`, wordClass)
	default:
		p.compound(b, re, maybe)
	}
}

// compound writes a part that has parts.
func (p *pattern) compound(b *strings.Builder, re *syntax.Regexp, maybe bool) {
	switch re.Op {
	case syntax.OpCapture:
		p.optional[re.Cap] = maybe
		b.WriteByte('(')
		p.write(b, re.Sub[0], maybe)
		b.WriteByte(')')
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			p.write(b, sub, maybe)
		}
	case syntax.OpAlternate:
		p.alternate(b, re)
	default:
		p.repeat(b, re, maybe)
	}
}

func (p *pattern) alternate(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?:")
	for i, sub := range re.Sub {
		if i > 0 {
			b.WriteByte('|')
		}
		p.write(b, sub, true)
	}
	b.WriteByte(')')
}

func (p *pattern) repeat(b *strings.Builder, re *syntax.Regexp, maybe bool) {
	times := map[syntax.Op]string{syntax.OpStar: "*", syntax.OpPlus: "+", syntax.OpQuest: "?"}[re.Op]
	if re.Op == syntax.OpRepeat {
		times = fmt.Sprintf("{%d,", re.Min)
		if re.Max >= 0 {
			times += fmt.Sprint(re.Max)
		}
		times += "}"
	}
	none := re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat && re.Min == 0
	b.WriteString("(?:")
	p.write(b, re.Sub[0], maybe || none)
	b.WriteString(")" + times)
	if re.Flags&syntax.NonGreedy != 0 {
		b.WriteByte('?')
	}
}

// writeRune writes a letter, or with fold all letters that differ from it in case alone.
func writeRune(b *strings.Builder, r rune, fold bool) {
	all := []rune{r}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		all = append(all, f)
	}
	if len(all) == 1 {
		b.WriteString(escapedRune(r))
		return
	}
	slices.Sort(all)
	b.WriteByte('[')
	for _, r := range all {
		b.WriteString(escapedRune(r))
	}
	b.WriteByte(']')
}

// writeClass writes a class of ranges of letters.
func writeClass(b *strings.Builder, ranges []rune) {
	if len(ranges) == 0 {
		b.WriteString(`(?!)`)
		return
	}
	b.WriteByte('[')
	for i := 0; i < len(ranges); i += 2 {
		b.WriteString(escapedRune(ranges[i]))
		if ranges[i+1] != ranges[i] {
			b.WriteString("-" + escapedRune(ranges[i+1]))
		}
	}
	b.WriteByte(']')
}

// escapedRune is a letter that means itself anywhere in a pattern: all but letters and digits by their number.
func escapedRune(r rune) string {
	if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == ' ' || r == '_' {
		return string(r)
	}
	return fmt.Sprintf(`\x{%x}`, r)
}

// literalPattern is a text as a pattern that finds it.
func literalPattern(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(escapedRune(r))
	}
	return b.String()
}
