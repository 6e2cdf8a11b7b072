package check

import (
	"strings"
	"testing"
)

// TestUnknownImports: what nobody can import says why, and what may have been meant.
func TestUnknownImports(t *testing.T) {
	s := libraryScope(t)
	s.Offer([]string{"cancha/spark"})
	for path, want := range map[string]string{
		"C":                 `a cell cannot use cgo (import "C"); a package of your own can: "%get ./DIR" takes its module from a folder`,
		"fmtt":              `package fmtt is not in std; there is "fmt"`,
		"string":            `package string is not in std; there is "strings"`,
		"math/random":       `package math/random is not in std; there is "math/rand"`,
		"json":              `package json is not in std; there is "encoding/json"`,
		"http":              `package http is not in std; there is "net/http"`,
		"golang/json":       `package golang/json is not in std; there is "encoding/json"`,
		"nosuchpkg/abc":     `package nosuchpkg/abc is not in std; "%get ./DIR" takes a module of your own from its folder`,
		"internal/abi":      "use of internal package internal/abi not allowed",
		"example.com/none":  "package example.com/none is not among those that a cell may import",
		"cancha/sparc":      `there is no package cancha/sparc; there are "cancha/spark", `,
		"cancha/ml/boost":   `there is no package cancha/ml/boost; there are "cancha/ml`,
		"cancha/ml/forrest": `there is no package cancha/ml/forrest; there are "cancha/ml/forest", `,
		"cancha":            `there is no package cancha; there are `,
	} {
		_, err := s.Check("cell 1", "import _ \""+path+"\"")
		if err == nil || !strings.HasPrefix(err.Error(), "cell 1:1:10: "+want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"fmt", "fmtt", 1}, {"rand", "ranb", 1}, {"kitten", "sitting", 3}, {"abc", "", 3}, {"ab", "ba", 2}, {"a", "wholly another", 4}} {
		if got := distance(c.a, c.b, 3); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a, 3); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
