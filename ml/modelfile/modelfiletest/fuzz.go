// Package modelfiletest gives whatever reads model files hostile ones: whole by their checksum, with a header and numbers that nobody wrote.
// Tests only. It ends at the file: what a model answers is for its own tests.
package modelfiletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"cancha/internal/alloctest"
)

// Where the header of a file begins; see package modelfile.
const (
	lengthAt = 12
	headerAt = 16
)

// Fuzz changes header and numbers of the models that the seeds save, and has each file opened. Open asks the model something if there is
// one, and returns why there is none. It must not panic, and what it allocates at once must not be much larger than the file.
func Fuzz(f *testing.F, open func(path string) error, seeds ...func(path string) error) {
	prefix := []byte{}
	for i, save := range seeds {
		path := filepath.Join(f.TempDir(), "seed")
		if err := save(path); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if err := open(path); i == 0 && err != nil {
			f.Fatalf("the first seed cannot be opened: %v", err)
		}
		numbers := headerAt + int(binary.LittleEndian.Uint32(data[lengthAt:]))
		prefix = data[:lengthAt:lengthAt]
		f.Add(data[headerAt:numbers], data[numbers:len(data)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, header, numbers []byte) {
		body := binary.LittleEndian.AppendUint32(bytes.Clone(prefix), uint32(len(header)))
		body = append(append(body, header...), numbers...)
		sum := sha256.Sum256(body)
		path := filepath.Join(t.TempDir(), "model")
		if err := os.WriteFile(path, append(body, sum[:]...), 0o600); err != nil {
			t.Fatal(err)
		}
		alloctest.Bounded(t, len(body), func() { _ = open(path) }) // any error is fine
	})
}
