package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Open reads the model at path and checks that it is of this kind, and no newer than version. Errors name the file and
// what to do.
func Open(path, kind string, version int) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	f, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	if f.Kind != kind {
		return nil, fmt.Errorf("open model %s: it holds a %q, a %q is needed: %w", path, f.Kind, kind, ErrKind)
	}
	if f.Version > version {
		return nil, fmt.Errorf("open model %s: %q of version %d, this program reads up to %d; update it, or train and save again: %w", path, kind, f.Version, version, ErrNewer)
	}
	return f, nil
}

// Decode reads a file from its bytes. It never allocates more than a few times their length.
func Decode(data []byte) (*File, error) {
	text, rest, err := split(data)
	if err != nil {
		return nil, err
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("header (%v): %w", err, ErrDamaged)
	}
	if want, err := h.size(); err != nil {
		return nil, err
	} else if len(rest) < want+sha256.Size {
		return nil, fmt.Errorf("%d bytes where the header promises %d; copy it again, or train and save again: %w", len(data), len(data)-len(rest)+want+sha256.Size, ErrTruncated)
	} else if len(rest) > want+sha256.Size {
		return nil, fmt.Errorf("%d bytes too many: %w", len(rest)-want-sha256.Size, ErrDamaged)
	}
	body := data[:len(data)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, fmt.Errorf("the checksum is wrong; copy it again, or train and save again: %w", ErrDamaged)
	}
	f := &File{Kind: h.Kind, Version: h.Version, meta: h.Meta}
	for _, a := range h.Arrays {
		var read array
		read, rest = a.read(rest)
		f.arrays = append(f.arrays, read)
	}
	return f, nil
}

// split checks what stands before the header and returns the header and all that follows.
func split(data []byte) (text, rest []byte, err error) {
	if len(data) < prefixSize {
		if len(data) > 0 && bytes.HasPrefix([]byte(magic), data[:min(len(data), len(magic))]) {
			return nil, nil, fmt.Errorf("%d bytes; train and save again: %w", len(data), ErrTruncated)
		}
		return nil, nil, fmt.Errorf("%d bytes: %w", len(data), ErrNotModel)
	}
	if string(data[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("it begins with %q: %w", data[:len(magic)], ErrNotModel)
	}
	if v := binary.LittleEndian.Uint32(data[len(magic):]); v != formatVersion {
		return nil, nil, fmt.Errorf("format %d, this program reads %d; update it, or train and save again: %w", v, formatVersion, ErrNewer)
	}
	length := int64(binary.LittleEndian.Uint32(data[len(magic)+4:]))
	if rest = data[prefixSize:]; int64(len(rest)) < length {
		return nil, nil, fmt.Errorf("%d bytes, the header alone has %d; copy it again, or train and save again: %w", len(data), length, ErrTruncated)
	}
	return rest[:length], rest[length:], nil
}

// size returns the bytes of all arrays.
func (h header) size() (int, error) {
	total := 0
	names := map[string]bool{}
	for _, a := range h.Arrays {
		if names[a.Name] {
			return 0, fmt.Errorf("two arrays %q: %w", a.Name, ErrDamaged)
		}
		names[a.Name] = true
		width := 4
		switch a.Type {
		case "float64":
			width = 8
		case "int32", "float32":
		default:
			return 0, fmt.Errorf("array %q of unknown type %q: %w", a.Name, a.Type, ErrDamaged)
		}
		if a.Count < 0 || a.Count > (math.MaxInt-total)/width {
			return 0, fmt.Errorf("array %q of %d numbers: %w", a.Name, a.Count, ErrDamaged)
		}
		total += a.Count * width
	}
	return total, nil
}

// read takes the array's numbers from the front of data, which holds enough.
func (a arrayHeader) read(data []byte) (array, []byte) {
	out := array{name: a.Name}
	switch a.Type {
	case "int32":
		out.i32 = make([]int32, a.Count)
		for i := range out.i32 {
			out.i32[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return out, data[4*a.Count:]
	case "float32":
		out.f32 = make([]float32, a.Count)
		for i := range out.f32 {
			out.f32[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return out, data[4*a.Count:]
	}
	out.f64 = make([]float64, a.Count)
	for i := range out.f64 {
		out.f64[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, data[8*a.Count:]
}
