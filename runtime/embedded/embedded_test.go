package embedded

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

//go:embed embedded.go testdata
var compiled embed.FS

// What Files makes holds what the linker makes of the same files, byte for byte, in the same order.
func TestFilesAsTheLinkerMakesThem(t *testing.T) {
	var names []string
	if err := fs.WalkDir(compiled, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(names) < 5 {
		t.Fatalf("only %q are there to compare", names)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got := Files(folder, names...)
	if err := fstest.TestFS(got, names...); err != nil {
		t.Error(err)
	}
	a, b := reflect.ValueOf(got).Field(0).Elem(), reflect.ValueOf(compiled).Field(0).Elem()
	if a.Len() != b.Len() {
		t.Fatalf("%d entries, want %d", a.Len(), b.Len())
	}
	for i := range a.Len() {
		for _, field := range []string{"name", "data"} {
			if got, want := a.Index(i).FieldByName(field).String(), b.Index(i).FieldByName(field).String(); got != want {
				t.Errorf("%s of entry %d is %.40q, want %.40q", field, i, got, want)
			}
		}
	}
}

func TestText(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("a\x00é\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := Text(folder, "a.txt"), "a\x00é\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnreadable(t *testing.T) {
	folder := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"missing", "link", "../secret"} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				err, ok := recover().(error)
				if !ok || !strings.HasPrefix(err.Error(), "go:embed: ") {
					t.Errorf("the panic is %v", err)
				}
				if name == "missing" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v is not fs.ErrNotExist", err)
				}
			}()
			Files(folder, name)
			t.Error("no panic")
		})
	}
}

func TestUnknownForms(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"no struct":  reflect.TypeFor[int](),
		"two fields": reflect.TypeFor[struct{ a, b *[]file }](),
		"no pointer": reflect.TypeFor[struct{ files []file }](),
		"no slice":   reflect.TypeFor[struct{ files *file }](),
		"field missing": reflect.TypeFor[struct {
			files *[]struct{ name, data string }
		}](),
		"other field": reflect.TypeFor[struct {
			files *[]struct {
				name, data string
				hash       [20]byte
			}
		}](),
	} {
		if known(typ) {
			t.Errorf("%s is taken for embed.FS", name)
		}
	}
}
