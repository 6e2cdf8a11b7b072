package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/jobs/folder"
)

// Any id has a name of its own, which a file system takes with an extension.
func TestNamesOf(t *testing.T) {
	long := strings.Repeat("é", 90) // 540 bytes, as in a URL
	limit := strings.Repeat("x", 240)
	ids := []string{"plain-1", "a b", "../model", ".hidden", ".", "..", "%2Ehidden", limit, limit + "x", limit + "y", strings.Repeat("x", 1000), long, long + "é",
		strings.Repeat(".", 300), folder.NameOf(long)}
	dir, err := folder.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	had := map[string]string{}
	for _, id := range ids {
		name := folder.NameOf(id)
		if other, is := had[name]; is {
			t.Errorf("%.300q and %.300q are both %s", id, other, name)
		}
		had[name] = id
		for _, extension := range []string{".ipynb", ".forest"} {
			at := filepath.Join("out", name+extension)
			if err := dir.MayWrite(at); err != nil {
				t.Errorf("%.100q: %v", id, err)
			}
			if err := dir.Write(id, at, []byte("1")); err != nil {
				t.Errorf("%.100q: %v", id, err)
			}
		}
	}
	if all, err := os.ReadDir(filepath.Join(dir.Path(), "out")); err != nil || len(all) != 2*len(ids) {
		t.Errorf("%d files, %v", len(all), err)
	}
	if got := folder.NameOf(limit); got != limit {
		t.Errorf("got %s", got)
	}
}
