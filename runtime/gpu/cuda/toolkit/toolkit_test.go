package toolkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place is a folder with a header that has some text.
func place(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cuda.h"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestFlags: the first header of CUDA 12 is kept, and found again when its place has gone.
func TestFlags(t *testing.T) {
	folder, nowhere := t.TempDir(), filepath.Join(t.TempDir(), "nowhere")
	const text = "// CUDA\n#define CUDA_VERSION 12060\n"
	good := place(t, text)
	compile, link, err := Flags(folder, nowhere, place(t, "#define CUDA_VERSION 13000\n"), good)
	if err != nil {
		t.Fatal(err)
	}
	if want := "-O2 -g -I" + filepath.Join(folder, "include"); compile != want {
		t.Errorf("compile: got %q, want %q", compile, want)
	}
	if want := "-O2 -g -L" + filepath.Join(folder, "lib"); link != want {
		t.Errorf("link: got %q, want %q", link, want)
	}
	for path, want := range map[string]string{"include/cuda.h": text, "lib/libcuda.a": "!<arch>\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, path)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if again, _, err := Flags(folder, nowhere); err != nil || again != compile {
		t.Errorf("again: got %q, %v", again, err)
	}
}

// TestFlagsRefuses: each place that was looked at is named, with why it does not do.
func TestFlagsRefuses(t *testing.T) {
	nowhere, old, other := filepath.Join(t.TempDir(), "nowhere"), place(t, "#define CUDA_VERSION 11080\n"), place(t, "int x;\n")
	_, _, err := Flags(t.TempDir(), nowhere, old, other)
	if err == nil {
		t.Fatal("no header, and no error")
	}
	for _, part := range []string{nowhere + "/cuda.h: no such file", old + "/cuda.h: of CUDA 11.8", other + "/cuda.h: it tells no version", "CUDA_HOME"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in: %v", part, err)
		}
	}
}
