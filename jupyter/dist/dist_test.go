package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cancha/jupyter/kernelspec"
)

// sample is what packages are made of, with a program that says how it was called.
func sample(t *testing.T) contents {
	t.Helper()
	r, err := newRelease("../..")
	if err != nil {
		t.Fatal(err)
	}
	program := []byte("#!/bin/sh\necho ran \"$@\"\n")
	return contents{release: r, platform: platforms()[0], program: program, licenses: []byte("of others\n")}
}

func TestVersion(t *testing.T) {
	got, err := readVersion("../../cmd/internal/own/own.go")
	if err != nil || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(got) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := readVersion("main.go"); err == nil || !strings.Contains(err.Error(), "no constant") {
		t.Errorf("a file without a version: %v", err)
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose(nil); err != nil || len(got) != 4 {
		t.Errorf("without names: %v, %v", got, err)
	}
	if got, err := choose([]string{"darwin/arm64"}); err != nil || len(got) != 1 || got[0].arch != "arm64" {
		t.Errorf("one name: %v, %v", got, err)
	}
	if _, err := choose([]string{"windows/amd64"}); err == nil || !strings.Contains(err.Error(), "linux/amd64 linux/arm64") {
		t.Errorf("a name that there is not: %v, want those that there are", err)
	}
}

// open returns the files of a wheel.
func open(t *testing.T, data []byte) map[string]*zip.File {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	return files
}

func content(t *testing.T, f *zip.File) []byte {
	t.Helper()
	if f == nil {
		t.Fatal("a file is missing")
	}
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The file's name and its WHEEL say the same tags.
func TestWheelTags(t *testing.T) {
	c := sample(t)
	name, data, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("cancha-%s-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl", c.version)
	if name != want {
		t.Errorf("name %s, want %s", name, want)
	}
	info := string(content(t, open(t, data)["cancha-"+c.version+".dist-info/WHEEL"]))
	if got := strings.Count(info, "Tag: py3-none-"); got != 3 || !strings.Contains(info, "Root-Is-Purelib: false\n") {
		t.Errorf("WHEEL has %d tags:\n%s", got, info)
	}
}

// RECORD names every file with its hash and size, and itself without.
func TestWheelRecord(t *testing.T) {
	c := sample(t)
	_, data, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	files := open(t, data)
	name := "cancha-" + c.version + ".dist-info/RECORD"
	rows, err := csv.NewReader(bytes.NewReader(content(t, files[name]))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(files) {
		t.Errorf("%d rows for %d files", len(rows), len(files))
	}
	for _, row := range rows {
		if row[0] == name {
			if row[1] != "" || row[2] != "" {
				t.Errorf("RECORD says of itself %v", row[1:])
			}
			continue
		}
		text := content(t, files[row[0]])
		hash := sha256.Sum256(text)
		if want := "sha256=" + base64.RawURLEncoding.EncodeToString(hash[:]); row[1] != want || row[2] != fmt.Sprint(len(text)) {
			t.Errorf("%s: %v, want %s and %d", row[0], row[1:], want, len(text))
		}
	}
}

// unpack lays a wheel's data and scripts out as pip does in an environment.
func unpack(t *testing.T, c contents, data []byte) (prefix string) {
	t.Helper()
	prefix = t.TempDir()
	for name, f := range open(t, data) {
		place, ok := strings.CutPrefix(name, "cancha-"+c.version+".data/data/")
		if script, is := strings.CutPrefix(name, "cancha-"+c.version+".data/scripts/"); is {
			place, ok = "bin/"+script, true
		}
		if !ok {
			continue
		}
		to := filepath.Join(prefix, place)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content(t, f), f.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return prefix
}

// The kernelspec's program is found without the environment being active, and told from one that "cancha install" made.
func TestWheelKernel(t *testing.T) {
	c := sample(t)
	_, data, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	prefix := unpack(t, c, data)
	env := func(name string) (string, bool) { return prefix, name == "VIRTUAL_ENV" }
	found := kernelspec.Find(env)
	if len(found) == 0 || found[0].Spec.DisplayName != kernelspec.DefaultDisplayName {
		t.Fatalf("found %+v", found)
	}
	program, err := found[0].Program()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "kernel", "x").Output(); err != nil || string(out) != "ran kernel x\n" {
		t.Errorf("the program says %q, %v", out, err)
	}
	for _, name := range []string{"logo-svg.svg", "logo-64x64.png", "logo-32x32.png"} {
		if _, err := os.Stat(filepath.Join(found[0].Folder, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := kernelspec.Uninstall(kernelspec.Options{SysPrefix: true, Env: env}); !errors.Is(err, kernelspec.ErrByPip) {
		t.Errorf("uninstall of what pip has installed: %v, want ErrByPip", err)
	}
	if _, err := kernelspec.Install(kernelspec.Options{SysPrefix: true, Env: env, Program: program}); !errors.Is(err, kernelspec.ErrByPip) {
		t.Errorf("install over what pip has installed: %v, want ErrByPip", err)
	}
}

// The command runs the same program: by its path, through links, and with arguments that have blanks.
func TestWheelLauncher(t *testing.T) {
	c := sample(t)
	_, data, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	prefix := unpack(t, c, data)
	links := t.TempDir()
	relative, err := filepath.Rel(links, filepath.Join(prefix, "bin", "cancha"))
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"absolute": filepath.Join(prefix, "bin", "cancha"), "relative": relative, "twice": "relative"} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{filepath.Join(prefix, "bin", "cancha"), filepath.Join(links, "absolute"), filepath.Join(links, "relative"), filepath.Join(links, "twice")} {
		if out, err := exec.Command(command, "run", "a b").Output(); err != nil || string(out) != "ran run a b\n" {
			t.Errorf("%s says %q, %v", command, out, err)
		}
	}
}

// Made again, the packages are the same bytes: nothing in them tells when or by whom.
func TestSameBytes(t *testing.T) {
	c := sample(t)
	for _, pack := range []func() (string, []byte, error){c.archive, c.wheel} {
		name, first, err := pack()
		if err != nil {
			t.Fatal(err)
		}
		if _, second, err := pack(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs the second time (%v)", name, err)
		}
	}
	_, wheel, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range open(t, wheel) {
		if !f.Modified.Equal(epoch) {
			t.Errorf("%s is of %v", name, f.Modified)
		}
	}
}

func TestArchive(t *testing.T) {
	c := sample(t)
	name, data, err := c.archive()
	if err != nil {
		t.Fatal(err)
	}
	if want := "cancha-" + c.version + "-linux-amd64.tar.gz"; name != want {
		t.Errorf("name %s, want %s", name, want)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(filepath.Base(h.Name), " ", fs.FileMode(h.Mode)))
	}
	want := []string{"LICENSE -rw-r--r--", "README.md -rw-r--r--", "THIRD_PARTY_LICENSES -rw-r--r--", "cancha -rwxr-xr-x"}
	if !slices.Equal(got, want) {
		t.Errorf("holds %v, want %v", got, want)
	}
}

// Every module of the program, and Go, hands its license on.
func TestLicenses(t *testing.T) {
	c := sample(t)
	text, err := c.release.licenses(t.Context(), c.platform)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== go1.", "==== github.com/traefik/yaegi v", ": LICENSE\n", ": PATENTS\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
	if err := addLicenses(new(strings.Builder), "example.com/none v1", t.TempDir()); err == nil {
		t.Error("a module without a license is taken")
	}
}

// The spec in the wheel is JSON that other readers of kernel.json take.
func TestWheelSpec(t *testing.T) {
	c := sample(t)
	_, data, err := c.wheel()
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Argv     []string
		Metadata map[string]any
	}
	if err := json.Unmarshal(content(t, open(t, data)["cancha-"+c.version+".data/data/share/jupyter/kernels/cancha/kernel.json"]), &spec); err != nil {
		t.Fatal(err)
	}
	if want := []string{"{resource_dir}/cancha", "kernel", "{connection_file}"}; !slices.Equal(spec.Argv, want) || spec.Metadata["installed_by"] != "pip" || spec.Metadata["version"] != c.version {
		t.Errorf("argv %q, metadata %v", spec.Argv, spec.Metadata)
	}
}

// TestSeal: the sums cover every file, the provenance names them with their digests and the commit, and sealing again changes nothing.
func TestSeal(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{filepath.Join(root, "go.sum"): "sums\n", filepath.Join(out, "a.whl"): "a", filepath.Join(out, "b.tar.gz"): "b"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a"}} {
		if _, err := git(root, args...); err != nil {
			t.Fatal(err)
		}
	}
	commit, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var before [2]string
	for range 2 {
		if err := run(t.Context(), []string{"-seal", "-root", root, "-out", out}); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{sumsName, provenanceName} {
			text, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			if before[i] != "" && before[i] != string(text) {
				t.Errorf("%s differs the second time", name)
			}
			before[i] = string(text)
		}
	}
	if got := strings.Count(before[0], "\n"); got != 3 || !strings.Contains(before[0], "  "+provenanceName) {
		t.Errorf("the sums are of %d files:\n%s", got, before[0])
	}
	var s statement
	if err := json.Unmarshal([]byte(before[1]), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != 2 || s.Subject[0].Name != "a.whl" || s.Subject[0].Digest["sha256"] != "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" ||
		s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != commit {
		t.Errorf("got %+v", s)
	}
	if err := seal(root, t.TempDir()); err == nil {
		t.Error("an empty folder was sealed")
	}
}
