package support

import (
	"iter"
	"reflect"
	"regexp"
	"runtime"
	"strings"
)

// Package reflect lists methods that are exported, and in compiled cells hidden methods are. Their names come last.

// NumMethod is t.NumMethod().
func NumMethod(t reflect.Type) int { return visible(t, t.NumMethod()) }

// NumMethodOf is v.NumMethod().
func NumMethodOf(v reflect.Value) int {
	n := v.NumMethod()
	if n == 0 {
		return 0
	}
	return visible(v.Type(), n)
}

// visible counts the first n methods of a type without the hidden ones; those of an interface count in Go.
func visible(t reflect.Type, n int) int {
	for t.Kind() != reflect.Interface && n > 0 && strings.HasPrefix(t.Method(n-1).Name, HiddenMark) {
		n--
	}
	return n
}

// Methods is t.Methods().
func Methods(t reflect.Type) iter.Seq[reflect.Method] {
	return func(yield func(reflect.Method) bool) {
		for i := range NumMethod(t) {
			if !yield(t.Method(i)) {
				return
			}
		}
	}
}

// MethodsOf is v.Methods().
func MethodsOf(v reflect.Value) iter.Seq2[reflect.Method, reflect.Value] {
	return func(yield func(reflect.Method, reflect.Value) bool) {
		for i := range NumMethodOf(v) {
			if !yield(v.Type().Method(i), v.Method(i)) {
				return
			}
		}
	}
}

// PkgPath is t.PkgPath(): cells are package main.
func PkgPath(t reflect.Type) string { return CellPath(t.PkgPath()) }

// CellPath is the path of a package as a cell's author knows it: cells are package main.
func CellPath(path string) string {
	if strings.HasPrefix(path, "cells/") {
		return "main"
	}
	return path
}

// madeNames are what a cell's functions are called in its compiled package, and what they are called in the cell. Its statements are those
// of a main.
var madeNames = []struct {
	made  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`^cells/[0-9a-f]+\.`), "main."},
	{regexp.MustCompile(`^main\.Xᐧcell\.Fᐧ(.+)-fm$`), "main.$1"},
	{regexp.MustCompile(`^main\.Xᐧcell\.Fᐧ`), "main."},
	{regexp.MustCompile(`^main\.(?:Fᐧ|ᐧ)`), "main."},
	{regexp.MustCompile(`^main\.(?:runᐧ|mainᐧ)`), "main.main"},
}

// FuncName is f.Name(), as the cell's author has named the function.
func FuncName(f *runtime.Func) string { return PlainName(f.Name()) }

// PlainName is the name of a function on the stack, as the cell's author has named it.
func PlainName(name string) string {
	for _, m := range madeNames {
		name = m.made.ReplaceAllString(name, m.plain)
	}
	return strings.ReplaceAll(name, HiddenMark, "")
}
