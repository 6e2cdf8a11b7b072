package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back a .zst file may refer; what the zstd command writes without --long stays far below, and its own limit for
// reading is the same.
const maxWindow = 128 << 20

// input is an open file, unpacked.
type input struct {
	io.Reader // of the file's text; nil behind an empty packed file
	file      *os.File
	packed    *bufio.Reader // nil if the file is plain
	read      *counter
	close     func() // of what unpacks
}

// counter counts what is read of a file.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// open opens a file, at a place if it is plain.
func open(path string, at int64) (*input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	in := &input{Reader: f, file: f, close: func() {}}
	_, packed := packing(path)
	if packed == "" {
		_, err = f.Seek(at, io.SeekStart)
	} else {
		err = in.unpack(packed)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, in.damage(err))
	}
	return in, nil
}

// unpack puts what unpacks the file before it. A file without a byte holds no records, packed or not.
func (in *input) unpack(packed string) error {
	in.read = &counter{Reader: in.file}
	in.packed = bufio.NewReaderSize(in.read, 64<<10)
	in.Reader = in.packed
	if _, err := in.packed.Peek(1); errors.Is(err, io.EOF) {
		return nil
	}
	if packed == ".gz" {
		z, err := gzip.NewReader(in.packed)
		if err != nil {
			return err
		}
		in.Reader, in.close = z, func() { z.Close() }
		return nil
	}
	// One block after another: a decoder that works ahead would be one more goroutine for each file.
	z, err := zstd.NewReader(in.packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	in.Reader, in.close = z, z.Close
	return nil
}

// Close closes the file.
func (in *input) Close() {
	in.close()
	in.file.Close()
}

// damage says in which place of a packed file reading has failed.
func (in *input) damage(err error) error {
	if in.packed == nil {
		return err
	}
	at := in.read.n - int64(in.packed.Buffered())
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the compressed file ends in the middle, at its byte %d: %w", at, err)
	}
	return fmt.Errorf("the compressed file is damaged at its byte %d or shortly before: %w", at, err)
}

// opening looks at the first bytes of a file's text: it returns how many of them are a byte order mark, or what is wrong with them.
func opening(text []byte) (mark int, err error) {
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return 3, nil
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return 0, errors.New("the text is UTF-16: convert it to UTF-8")
	case bytes.HasPrefix(text, []byte("\x1f\x8b")):
		return 0, errors.New("the content is gzip: call the file .gz")
	case bytes.HasPrefix(text, []byte("\x28\xb5\x2f\xfd")):
		return 0, errors.New("the content is Zstandard: call the file .zst")
	case bytes.HasPrefix(text, []byte("PAR1")):
		return 0, errors.New("the content is Parquet, which this source does not read")
	}
	return 0, nil
}
