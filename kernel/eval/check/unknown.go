package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// unknown is why a package cannot be imported that nobody has.
type unknown struct{ text string }

func (e unknown) Error() string { return e.text }

// libraryPrefix is the path in front of what the program itself brings for cells.
const libraryPrefix = "cancha/"

// unknown says why a cell cannot import a package, and what it may have meant.
func (l *listed) unknown(name string) error {
	host, _, _ := strings.Cut(name, "/")
	switch {
	case name == "C":
		return unknown{`a cell cannot use cgo (import "C"); a package of your own can: "%get ./DIR" takes its module from a folder`}
	case strings.HasPrefix(name+"/", libraryPrefix):
		return unknown{fmt.Sprintf("there is no package %s; there are %s", name, strings.Join(l.beside(name), ", "))}
	case strings.Contains(host, "."):
		return unknown{fmt.Sprintf("package %s is not among those that a cell may import", name)}
	case internal(name):
		return unknown{fmt.Sprintf("use of internal package %s not allowed", name)}
	}
	text := fmt.Sprintf("package %s is not in std", name)
	if near := l.near(name); len(near) > 0 {
		return unknown{text + "; there is " + strings.Join(near, ", ")}
	}
	return unknown{text + `; "%get ./DIR" takes a module of your own from its folder`}
}

func internal(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "internal" || part == "vendor" })
}

// mostNear is how many packages are offered in place of one that is not there.
const mostNear = 3

// near are the packages of the standard library that a path may have been meant for, quoted: those with that last element, or else those
// of the most similar paths.
func (l *listed) near(name string) []string {
	var same, similar []string
	least := 1 + len(name)/5
	for _, p := range l.known {
		switch d := distance(name, p.Path, least); {
		case !p.Standard:
		case path.Base(p.Path) == name || path.Base(p.Path) == path.Base(name) && strings.Contains(name, "/"):
			same = append(same, p.Path)
		case d < least:
			least, similar = d, []string{p.Path}
		case d == least:
			similar = append(similar, p.Path)
		}
	}
	if len(same) > 0 {
		similar = same
	}
	return quoted(similar)
}

// beside are the packages of the program's library that are nearest to a path, quoted.
func (l *listed) beside(name string) []string {
	var all []string
	for _, p := range l.known {
		if strings.HasPrefix(p.Path, libraryPrefix) {
			all = append(all, p.Path)
		}
	}
	all = append(all, l.later...)
	slices.Sort(all)
	all = slices.Compact(all)
	shared := func(p string) int { // elements from the left
		n := 0
		for a, b := strings.Split(name, "/"), strings.Split(p, "/"); n < len(a) && n < len(b) && a[n] == b[n]; n++ {
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b string) int {
		if near := distance(name, a, 2) - distance(name, b, 2); near != 0 {
			return near
		}
		return shared(b) - shared(a)
	})
	const most = 8
	if len(all) > most {
		return append(quote(all[:most]), fmt.Sprintf("and %d more", len(all)-most))
	}
	return quote(all)
}

func quoted(paths []string) []string {
	slices.Sort(paths)
	return quote(paths[:min(len(paths), mostNear)])
}

func quote(paths []string) (list []string) {
	for _, p := range paths {
		list = append(list, strconv.Quote(p))
	}
	return list
}

// distance is how many letters have to be put in, taken out or changed to make one text of another, at most most+1.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most+1)
}
