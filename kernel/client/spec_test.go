package client

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/wire"
)

// writeSpec writes a kernel.json for name below dir and returns its folder.
func writeSpec(t *testing.T, dir, name, text string) string {
	t.Helper()
	folder := filepath.Join(dir, "kernels", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kernel.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestFindSpec(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("JUPYTER_PATH", first+string(filepath.ListSeparator)+second)
	t.Setenv("JUPYTER_DATA_DIR", t.TempDir())
	writeSpec(t, second, "go", `{"argv":["second"]}`)
	folder := writeSpec(t, first, "go", `{"argv":["{resource_dir}/k","{connection_file}"],"language":"go","interrupt_mode":"message","env":{"A":"${B}/x"}}`)
	writeSpec(t, second, "only", `{"argv":["second"]}`)
	writeSpec(t, first, "broken", `{`)
	writeSpec(t, first, "empty", `{}`)

	s, err := FindSpec("go")
	if err != nil || s.Dir != folder {
		t.Fatalf("go: %+v, %v; want the one in %s", s, err, folder)
	}
	t.Setenv("B", "b")
	c := FromSpec(s)
	if want := []string{folder + "/k", "{connection_file}"}; !slices.Equal(c.Argv, want) || c.Interrupt != "message" {
		t.Errorf("config %+v, want argv %q and message", c, want)
	}
	if want := []string{"A=b/x"}; !slices.Equal(c.Env, want) {
		t.Errorf("env %q, want %q", c.Env, want)
	}
	if s, err := FindSpec("only"); err != nil || FromSpec(s).Interrupt != "signal" {
		t.Errorf("only: %+v, %v; want it with signals", s, err)
	}
	if _, err := FindSpec("none"); !errors.Is(err, ErrNoSpec) {
		t.Errorf("none: got %v, want ErrNoSpec", err)
	}
	for _, name := range []string{"broken", "empty"} {
		if _, err := FindSpec(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error with its path", name, err)
		}
	}
}

// TestSpecEncrypts: channels are encrypted where the kernelspec says that the kernel can, in any of the forms that others read too.
func TestSpecEncrypts(t *testing.T) {
	for _, c := range []struct {
		metadata string
		want     bool
	}{
		{`{}`, false},
		{`{"metadata":{}}`, false},
		{`{"metadata":{"debugger":true,"supported_encryption":["curve"]}}`, true},
		{`{"metadata":{"supported_encryption":"curve"}}`, true},
		{`{"metadata":{"supported_encryption":" CURVE "}}`, true},
		{`{"metadata":{"supported_encryption":["tls","Curve"]}}`, true},
		{`{"metadata":{"supported_encryption":["tls"]}}`, false},
		{`{"metadata":{"supported_encryption":null}}`, false},
		{`{"metadata":{"supported_encryption":{"curve":true}}}`, false},
		{`{"metadata":{"supported_encryption":7}}`, false},
	} {
		dir := writeSpec(t, t.TempDir(), "k", `{"argv":["k"],`+c.metadata[1:])
		if c.metadata == "{}" {
			dir = writeSpec(t, t.TempDir(), "k", `{"argv":["k"]}`)
		}
		s, err := ReadSpec(dir)
		if err != nil || FromSpec(s).Encrypted != c.want {
			t.Errorf("%s: encrypted %v, %v; want %v", c.metadata, FromSpec(s).Encrypted, err, c.want)
		}
	}
}

func TestConnectionFileIsPrivate(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy")
	k, err := Start(Config{Argv: []string{"cp", "-p", "{connection_file}", copied}, Encrypted: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Err(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if _, err := os.Stat(k.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left after the kernel's end: %v", err)
	}
	if c := k.Connection(); len(c.Key) != 64 || c.ShellPort == c.IOPubPort {
		t.Errorf("connection %+v", c)
	}
	raw, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := wire.ParseConnection(raw); err != nil || !c.Encrypted() || c.CurveKeys != k.Connection().CurveKeys {
		t.Errorf("the file has keys %v, %v; want the connection's", c.Encrypted(), err)
	}
}
