package kernelspec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// environment is a process environment of a test.
func environment(m map[string]string) Env {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

// fakeProgram returns a small file to install in place of the running test.
func fakeProgram(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestInstall(t *testing.T) {
	prefix := t.TempDir()
	o := Options{Prefix: prefix, Program: fakeProgram(t, "one")}
	folder, err := Install(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(prefix, "share/jupyter/kernels/cancha"); folder != want {
		t.Errorf("installed into %s, want %s", folder, want)
	}
	for _, name := range []string{"kernel.json", "cancha", "logo-svg.svg", "logo-64x64.png", "logo-32x32.png"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	checkJSON(t, folder)
	checkLeftovers(t, filepath.Join(prefix, "share/jupyter"))
}

// checkJSON reads kernel.json as Jupyter would.
func checkJSON(t *testing.T, folder string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"display_name": "Go (Cancha)", "language": "go", "interrupt_mode": "message", "kernel_protocol_version": "5.5"} {
		if spec[key] != want {
			t.Errorf("%s: got %v, want %v", key, spec[key], want)
		}
	}
	metadata, _ := spec["metadata"].(map[string]any)
	if got, _ := metadata["supported_encryption"].([]any); !slices.Equal(got, []any{"curve"}) {
		t.Errorf("supported_encryption: got %v, want a list with curve", metadata["supported_encryption"])
	}
	argv := []any{"{resource_dir}/cancha", "kernel", "{connection_file}"}
	if got, _ := spec["argv"].([]any); !slices.Equal(got, argv) {
		t.Errorf("argv: got %v, want %v", spec["argv"], argv)
	}
}

// checkLeftovers looks for what Install writes while it works.
func checkLeftovers(t *testing.T, data string) {
	t.Helper()
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "kernels" {
		t.Errorf("%s holds %v, want kernels only", data, entries)
	}
}

func TestInstallAgain(t *testing.T) {
	prefix := t.TempDir()
	for _, text := range []string{"one", "two"} {
		folder, err := Install(Options{Prefix: prefix, Program: fakeProgram(t, text), DisplayName: text})
		if err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(filepath.Join(folder, "cancha"))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Read(folder)
		if err != nil || string(program) != text || spec.DisplayName != text {
			t.Errorf("got program %q and name %q, want %q (%v)", program, spec.DisplayName, text, err)
		}
	}
	checkLeftovers(t, filepath.Join(prefix, "share/jupyter"))
}

func TestFailedInstallKeepsTheOld(t *testing.T) {
	prefix := t.TempDir()
	folder, err := Install(Options{Prefix: prefix, Program: fakeProgram(t, "one")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(Options{Prefix: prefix, Program: filepath.Join(prefix, "missing")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("install of a missing program: %v", err)
	}
	if program, err := os.ReadFile(filepath.Join(folder, "cancha")); err != nil || string(program) != "one" {
		t.Errorf("the old kernel holds %q (%v), want what it was", program, err)
	}
	checkLeftovers(t, filepath.Join(prefix, "share/jupyter"))
}

func TestOtherKernelsAreSafe(t *testing.T) {
	prefix := t.TempDir()
	folder := filepath.Join(prefix, "share/jupyter/kernels/cancha")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kernel.json"), []byte(`{"argv":["x"],"display_name":"X"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(Options{Prefix: prefix, Program: fakeProgram(t, "")}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("install over another kernel: %v, want ErrNotOurs", err)
	}
	if _, err := Uninstall(Options{Prefix: prefix}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("uninstall of another kernel: %v, want ErrNotOurs", err)
	}
}

func TestUninstall(t *testing.T) {
	prefix := t.TempDir()
	if _, err := Install(Options{Prefix: prefix, Name: "mine", Program: fakeProgram(t, "")}); err != nil {
		t.Fatal(err)
	}
	if _, err := Uninstall(Options{Prefix: prefix}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("uninstall of a name that is not there: %v, want ErrNotInstalled", err)
	}
	folder, err := Uninstall(Options{Prefix: prefix, Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", folder, err)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"two places", Options{User: true, Prefix: "/x"}, "give one of them"},
		{"a name with a slash", Options{Name: "a/b"}, "only letters"},
		{"a hidden name", Options{Name: ".a"}, "only letters"},
		{"no home", Options{Env: environment(nil)}, "HOME is not set"},
	} {
		_, err := Install(test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestDataFolders(t *testing.T) {
	user := "/h/.local/share/jupyter"
	if runtime.GOOS == "darwin" {
		user = "/h/Library/Jupyter"
	}
	for _, test := range []struct {
		name string
		o    Options
		env  map[string]string
		want string
	}{
		{"nothing said", Options{}, map[string]string{"HOME": "/h"}, user},
		{"user", Options{User: true}, map[string]string{"HOME": "/h", "VIRTUAL_ENV": "/v"}, user},
		{"user, with a folder of its own", Options{User: true}, map[string]string{"HOME": "/h", "JUPYTER_DATA_DIR": "/j"}, "/j"},
		{"virtual environment", Options{SysPrefix: true}, map[string]string{"HOME": "/h", "VIRTUAL_ENV": "/v", "CONDA_PREFIX": "/c"}, "/v/share/jupyter"},
		{"conda environment", Options{SysPrefix: true}, map[string]string{"CONDA_PREFIX": "/c"}, "/c/share/jupyter"},
		{"prefix", Options{Prefix: "/p"}, nil, "/p/share/jupyter"},
	} {
		test.o.Env = environment(test.env)
		got, err := test.o.data()
		if err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// Find sees what Jupyter would see: the first of two equal names wins, other kernels hide ours and are not listed.
func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if _, err := Install(Options{Env: environment(map[string]string{"JUPYTER_DATA_DIR": dir}), Program: fakeProgram(t, "")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(second, "kernels", "broken"), 0o777); err != nil {
		t.Fatal(err)
	}
	found := Find(environment(map[string]string{"JUPYTER_PATH": first, "JUPYTER_DATA_DIR": second, "VIRTUAL_ENV": t.TempDir()}))
	if len(found) < 2 || found[0].Hidden || !found[1].Hidden {
		t.Fatalf("got %+v, want the first shown and the second hidden", found)
	}
	if got, err := found[0].Program(); err != nil || got != filepath.Join(first, "kernels/cancha/cancha") {
		t.Errorf("program %s, %v", got, err)
	}
}
