// Package embedded reads files for the variables over which a cell writes //go:embed. The kernel writes the calls; which files a pattern
// names is its business. A cell may call the functions itself for files whose names it only knows when it runs.
package embedded

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Text is the content of a file below folder. The name has slashes and stays below folder. A file that cannot be read is a panic with an
// error.
func Text(folder, name string) string {
	root := open(folder)
	defer root.Close()
	return read(root, name)
}

// Files are files below folder, with the folders that they lie in. The names have slashes, relative to folder, and stay below it. A file
// that cannot be read is a panic with an error.
func Files(folder string, names ...string) embed.FS {
	root := open(folder)
	defer root.Close()
	list := make([]file, 0, len(names))
	for _, name := range entries(names) {
		f := file{name: name}
		if !strings.HasSuffix(name, "/") {
			f.data = read(root, name)
			sum := sha256.Sum256([]byte(f.data))
			copy(f.hash[:], sum[:])
		}
		list = append(list, f)
	}
	return filled(list)
}

func open(folder string) *os.Root {
	root, err := os.OpenRoot(folder)
	if err != nil {
		panic(fmt.Errorf("go:embed: %w", err))
	}
	return root
}

func read(root *os.Root, name string) string {
	data, err := root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		panic(fmt.Errorf("go:embed: %w", err))
	}
	return string(data)
}

// entries are files and the folders above them, which end in a slash, in the order that [embed.FS] searches: by folder, then by name.
func entries(names []string) []string {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = true
		}
	}
	var list []string
	for name := range all {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int {
		a, b = strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")
		if c := strings.Compare(path.Dir(a), path.Dir(b)); c != 0 {
			return c
		}
		return strings.Compare(path.Base(a), path.Base(b))
	})
	return list
}

// file has the memory of package embed's type of that name. Its fields cannot be set from outside, and the linker, which sets them in a
// program, does not see a cell.
type file struct {
	name string
	data string
	hash [16]byte
}

// filled is an [embed.FS] of these files. That its memory is what we think is looked up first.
func filled(list []file) (fs embed.FS) {
	if !known(reflect.TypeFor[embed.FS]()) {
		panic("go:embed: embed.FS has another form in this version of Go: embed into a string or a []byte")
	}
	*(**[]file)(unsafe.Pointer(&fs)) = &list
	return fs
}

// known reports whether t is a struct with a pointer to a slice of structs that look as [file] does.
func known(t reflect.Type) bool {
	want := reflect.TypeFor[file]()
	if t.Kind() != reflect.Struct || t.NumField() != 1 || t.Field(0).Type.Kind() != reflect.Pointer {
		return false
	}
	list := t.Field(0).Type.Elem()
	if list.Kind() != reflect.Slice || list.Elem().Kind() != reflect.Struct || list.Elem().NumField() != want.NumField() {
		return false
	}
	for i := range want.NumField() {
		have, want := list.Elem().Field(i), want.Field(i)
		if have.Name != want.Name || have.Type != want.Type || have.Offset != want.Offset {
			return false
		}
	}
	return list.Elem().Size() == want.Size()
}
