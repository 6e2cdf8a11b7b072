package modelfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

const (
	magic         = "CANCHAMF"
	formatVersion = 1
	prefixSize    = len(magic) + 4 + 4
)

// header is the JSON part.
type header struct {
	Kind    string                     `json:"kind"`
	Version int                        `json:"version"`
	Meta    map[string]json.RawMessage `json:"meta"`
	Arrays  []arrayHeader              `json:"arrays"`
}

type arrayHeader struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Count int    `json:"count"`
}

// describe returns the array's entry in the header.
func (a array) describe() arrayHeader {
	switch {
	case a.i32 != nil:
		return arrayHeader{a.name, "int32", len(a.i32)}
	case a.f32 != nil:
		return arrayHeader{a.name, "float32", len(a.f32)}
	}
	return arrayHeader{a.name, "float64", len(a.f64)}
}

// append appends the numbers to dst.
func (a array) append(dst []byte) []byte {
	for _, v := range a.i32 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	for _, v := range a.f32 {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	for _, v := range a.f64 {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// Encode returns the bytes of the file. Two arrays of one name are an error: a reader would find the first.
func (f *File) Encode() ([]byte, error) {
	h := header{Kind: f.Kind, Version: f.Version, Meta: f.meta}
	size := 0
	for _, a := range f.arrays {
		h.Arrays = append(h.Arrays, a.describe())
		size += 4*len(a.i32) + 4*len(a.f32) + 8*len(a.f64)
	}
	if _, err := h.size(); err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("modelfile: write the header: %w", err)
	}
	out := make([]byte, 0, prefixSize+len(text)+size+sha256.Size)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, formatVersion)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	out = append(out, text...)
	for _, a := range f.arrays {
		out = a.append(out)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

// Save writes the file to path as [Replace] does.
func (f *File) Save(path string) error {
	data, err := f.Encode()
	if err != nil {
		return err
	}
	return Replace(path, data)
}

// Replace writes data to path, whatever its format: into a temporary file beside it, to disk, and then renamed. Missing folders are made.
func Replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("save model: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("save model: %w", err)
	}
	defer os.Remove(temp.Name()) // after the rename there is nothing left to remove
	if err := writeAndClose(temp, data); err != nil {
		return fmt.Errorf("save model: write %s: %w", temp.Name(), err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("save model: %w", err)
	}
	return nil
}

// writeAndClose writes everything to disk; CreateTemp's private permissions become those of an ordinary file.
func writeAndClose(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	return err
}
