package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is a small model.
func sample(t testing.TB) *File {
	t.Helper()
	f := &File{Kind: "test", Version: 2}
	if err := f.SetMeta("classes", []string{"home", "draw", "away"}); err != nil {
		t.Fatal(err)
	}
	f.SetInt32("nodes", []int32{1, -2, 3})
	f.SetFloat32("values", []float32{0.5, 0.25})
	f.SetFloat64("importance", []float64{1e-300, 2})
	return f
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models", "m")
	if err := sample(t).Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	var classes []string
	if err := f.Meta("classes", &classes); err != nil || !slices.Equal(classes, []string{"home", "draw", "away"}) {
		t.Errorf("classes: got %v, %v", classes, err)
	}
	nodes, err := f.Int32("nodes")
	if err != nil || !slices.Equal(nodes, []int32{1, -2, 3}) {
		t.Errorf("nodes: got %v, %v", nodes, err)
	}
	importance, err := f.Float64("importance")
	if err != nil || !slices.Equal(importance, []float64{1e-300, 2}) {
		t.Errorf("importance: got %v, %v", importance, err)
	}
	if _, err := f.Float32("nodes"); !errors.Is(err, ErrDamaged) {
		t.Errorf("int32 read as float32: got %v", err)
	}
	if _, err := f.Float32("absent"); !errors.Is(err, ErrDamaged) {
		t.Errorf("absent array: got %v", err)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("got %d files in the folder, want the model alone", len(entries))
	}
}

// TestEveryTruncationIsAnError cuts the file after every byte and flips every byte.
func TestEveryTruncationIsAnError(t *testing.T) {
	data, err := sample(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := Decode(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for a model", n, len(data))
		} else if n > 0 && !errors.Is(err, ErrTruncated) {
			t.Fatalf("the first %d bytes: got %v, want %v", n, err, ErrTruncated)
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 0x10
		if _, err := Decode(flipped); err == nil {
			t.Fatalf("a file with byte %d changed was taken for a model", n)
		}
	}
	if _, err := Decode(append(bytes.Clone(data), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("one byte too many: got %v, want %v", err, ErrDamaged)
	}
}

// TestTwoArraysOfOneName neither writes nor reads them.
func TestTwoArraysOfOneName(t *testing.T) {
	f := sample(t)
	f.SetFloat32("nodes", []float32{1})
	if _, err := f.Encode(); err == nil {
		t.Error("two arrays of one name were written")
	}
	data, err := sample(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Replace(data[:len(data)-sha256.Size], []byte(`"values"`), []byte(`"nodes" `), 1)
	sum := sha256.Sum256(body)
	if _, err := Decode(append(body, sum[:]...)); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want %v", err, ErrDamaged)
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	good, err := sample(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(good)
	binary.LittleEndian.PutUint32(newer[len(magic):], 2)
	for _, tt := range []struct {
		name    string
		data    []byte
		kind    string
		version int
		want    error
	}{
		{"good", good, "test", 2, nil},
		{"other kind", good, "lwp", 2, ErrKind},
		{"newer content", good, "test", 1, ErrNewer},
		{"newer format", newer, "test", 2, ErrNewer},
		{"a notebook", []byte(`{"cells": [], "metadata": {}}`), "test", 2, ErrNotModel},
		{"empty", nil, "test", 2, ErrNotModel},
		{"half", good[:len(good)/2], "test", 2, ErrTruncated},
	} {
		path := filepath.Join(t.TempDir(), "model")
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, tt.kind, tt.version)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v does not name the file", tt.name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent"), "test", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := sample(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Decode(data)
		if err != nil {
			return
		}
		if _, err := file.Encode(); err != nil {
			t.Fatalf("a file that was read cannot be written: %v", err)
		}
	})
}
