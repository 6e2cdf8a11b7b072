// Package evaltest makes cells for tests out of those of an archive: by small changes that keep many of them valid Go, or without their
// declarations. It ends at their text: what is to hold for them is the business of the test. Tests only.
package evaltest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// Case are the cells of one case of an archive.
type Case []string

// Read reads archives: "=== name", cells separated by "---", then "-- expect --" and what they print.
func Read(files ...string) ([]Case, error) {
	var cases []Case
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read cells: %w", err)
		}
		for _, block := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
			_, body, _ := strings.Cut(block, "\n")
			body, _, _ = strings.Cut(body, "-- expect --\n")
			cases = append(cases, strings.Split(body, "\n---\n"))
		}
	}
	return cases, nil
}

// Mutate returns a case with some changes; the same seed makes the same changes. It seldom changes more than two cells of a case, so that
// the others still find what they need.
func Mutate(cases []Case, seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 1))
	cells := slices.Clone(cases[r.IntN(len(cases))])
	if r.IntN(4) == 0 { // declarations of another case in front
		cells = slices.Concat(cases[r.IntN(len(cases))], cells)
	}
	for range r.IntN(4) {
		i := r.IntN(len(cells))
		other := cases[r.IntN(len(cases))]
		cells[i] = mutation(r)(r, cells[i], other[r.IntN(len(other))])
	}
	if r.IntN(5) == 0 && len(cells) > 1 { // two cells become one
		i := r.IntN(len(cells) - 1)
		cells[i] += "\n" + cells[i+1]
		cells = slices.Delete(cells, i+1, i+2)
	}
	if r.IntN(5) == 0 { // a cell is run again
		i := r.IntN(len(cells))
		cells = slices.Insert(cells, i, cells[i])
	}
	return cells
}

// mutation chooses a way to change a cell; other is one to take something from.
func mutation(r *rand.Rand) func(r *rand.Rand, cell, other string) string {
	ways := []func(r *rand.Rand, cell, other string) string{replaceToken, replaceToken, replaceToken, moveLine, dropLine, takeLine, splitLine, wrap}
	return ways[r.IntN(len(ways))]
}

// word is a token of a cell.
type word struct {
	at   int
	kind token.Token
	text string
}

func words(cell string) []word {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(cell))
	s.Init(file, []byte(cell), func(token.Position, string) {}, 0)
	var list []word
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return list
		}
		if text == "" {
			text = kind.String()
		}
		if kind != token.SEMICOLON || text == ";" {
			list = append(list, word{file.Offset(pos), kind, text})
		}
	}
}

// replaceToken puts a token of the same kind in the place of another.
func replaceToken(r *rand.Rand, cell, other string) string {
	list := words(cell)
	if len(list) == 0 {
		return cell
	}
	w := list[r.IntN(len(list))]
	from := list
	if r.IntN(4) == 0 {
		from = words(other)
	}
	from = slices.DeleteFunc(slices.Clone(from), func(o word) bool { return !alike(o.kind, w.kind) || o.text == w.text })
	if len(from) == 0 {
		return cell
	}
	return cell[:w.at] + from[r.IntN(len(from))].text + cell[w.at+len(w.text):]
}

// alike tells tokens that can often stand for each other.
func alike(a, b token.Token) bool {
	return a == b || a.IsLiteral() && b.IsLiteral() || a.IsOperator() && b.IsOperator() && a.Precedence() == b.Precedence() && a.Precedence() > 0
}

func lines(cell string) []string { return strings.Split(cell, "\n") }

func moveLine(r *rand.Rand, cell, _ string) string {
	list := lines(cell)
	i, j := r.IntN(len(list)), r.IntN(len(list))
	list[i], list[j] = list[j], list[i]
	return strings.Join(list, "\n")
}

func dropLine(r *rand.Rand, cell, _ string) string {
	list := lines(cell)
	i := r.IntN(len(list))
	return strings.Join(slices.Delete(list, i, i+1), "\n")
}

func takeLine(r *rand.Rand, cell, other string) string {
	list, from := lines(cell), lines(other)
	return strings.Join(slices.Insert(list, r.IntN(len(list)+1), from[r.IntN(len(from))]), "\n")
}

// splitLine puts a comment where the text may be cut.
func splitLine(r *rand.Rand, cell, _ string) string {
	list := words(cell)
	if len(list) == 0 {
		return cell
	}
	at := list[r.IntN(len(list))].at
	return cell[:at] + []string{"/* ᐧ */ ", "// c\n", "\n", "(", "*", "&"}[r.IntN(6)] + cell[at:]
}

// wrap puts a statement around the cell.
func wrap(r *rand.Rand, cell, _ string) string {
	around := []string{"{\n%s\n}", "if true {\n%s\n}", "func() {\n%s\n}()", "for range 1 {\n%s\n}", "go func() {\n%s\n}()", "func wrapped() {\n%s\n}", "defer func() {\n%s\n}()", "switch x := 1; {\ndefault:\n%s\n}"}
	return fmt.Sprintf(around[r.IntN(len(around))], cell)
}
