package fetch_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// unpack returns a file's content as a server sends it.
func unpack(t *testing.T, path string, content []byte) []byte {
	t.Helper()
	if !strings.HasSuffix(path, ".gz") {
		return content
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
