package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// The embedded logos are what the program draws.
func TestLogos(t *testing.T) {
	files, err := logos()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "logos", name))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".svg" && !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the program draws", name)
		}
		if filepath.Ext(name) == ".png" && !samePicture(t, got, want) {
			t.Errorf("%s differs from what the program draws", name)
		}
	}
}

// samePicture compares pixels: another release of the encoder may pack them otherwise.
func samePicture(t *testing.T, a, b []byte) bool {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	q, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if p.Bounds() != q.Bounds() {
		return false
	}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			if p.At(x, y) != q.At(x, y) {
				return false
			}
		}
	}
	return true
}
