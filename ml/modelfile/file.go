package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Reasons why bytes are not taken for a model. Each is wrapped with what was found and what to do.
var (
	// ErrNotModel: the file does not begin as a model does. It is another kind of file.
	ErrNotModel = errors.New("not a model file")
	// ErrTruncated: the file ends before its header says. Copy it again, or train and save again.
	ErrTruncated = errors.New("model file is cut short")
	// ErrDamaged: the checksum or the header is wrong. Copy the file again, or train and save again.
	ErrDamaged = errors.New("model file is damaged")
	// ErrNewer: a later version of the program wrote the file. Update the program, or train and save again with this one.
	ErrNewer = errors.New("model file is newer than this program")
	// ErrKind: the file holds another kind of model than was asked for.
	ErrKind = errors.New("model file holds another kind of model")
)

// File is a model on its way to or from disk. The zero File with Kind and Version set is ready to be filled.
type File struct {
	Kind    string // what the model is, such as "lwp"
	Version int    // of that kind's own content
	meta    map[string]json.RawMessage
	arrays  []array
}

// array is a named column of numbers; exactly one of the slices is set.
type array struct {
	name string
	i32  []int32
	f32  []float32
	f64  []float64
}

// SetMeta stores a value in the header under a name, as JSON.
func (f *File) SetMeta(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("modelfile: write %q into the header: %w", name, err)
	}
	if f.meta == nil {
		f.meta = map[string]json.RawMessage{}
	}
	f.meta[name] = text
	return nil
}

// Meta reads a value from the header into value, a pointer.
func (f *File) Meta(name string, value any) error {
	text, ok := f.meta[name]
	if !ok {
		return fmt.Errorf("modelfile: the header has no %q: %w", name, ErrDamaged)
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("modelfile: %q in the header (%v): %w", name, err, ErrDamaged)
	}
	return nil
}

// SetInt32 stores an array under a name that no other array has. The slice is not copied.
func (f *File) SetInt32(name string, v []int32) {
	if v == nil {
		v = []int32{}
	}
	f.arrays = append(f.arrays, array{name: name, i32: v})
}

// SetFloat32 stores an array of float32; see SetInt32.
func (f *File) SetFloat32(name string, v []float32) {
	if v == nil {
		v = []float32{}
	}
	f.arrays = append(f.arrays, array{name: name, f32: v})
}

// SetFloat64 stores an array of float64; see SetInt32.
func (f *File) SetFloat64(name string, v []float64) {
	if v == nil {
		v = []float64{}
	}
	f.arrays = append(f.arrays, array{name: name, f64: v})
}

// Int32 returns the array of int32 with this name.
func (f *File) Int32(name string) ([]int32, error) {
	a, err := f.find(name)
	if err == nil && a.i32 == nil {
		err = wrongType(name)
	}
	return a.i32, err
}

// Float32 returns the array of float32 with this name.
func (f *File) Float32(name string) ([]float32, error) {
	a, err := f.find(name)
	if err == nil && a.f32 == nil {
		err = wrongType(name)
	}
	return a.f32, err
}

// Float64 returns the array of float64 with this name.
func (f *File) Float64(name string) ([]float64, error) {
	a, err := f.find(name)
	if err == nil && a.f64 == nil {
		err = wrongType(name)
	}
	return a.f64, err
}

func (f *File) find(name string) (array, error) {
	i := slices.IndexFunc(f.arrays, func(a array) bool { return a.name == name })
	if i < 0 {
		return array{}, fmt.Errorf("modelfile: no array %q: %w", name, ErrDamaged)
	}
	return f.arrays[i], nil
}

func wrongType(name string) error {
	return fmt.Errorf("modelfile: array %q has another type: %w", name, ErrDamaged)
}
