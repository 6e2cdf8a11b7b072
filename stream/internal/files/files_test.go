package files

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestFull: an error of a full disk says what to do and stays what it is, others are left alone.
func TestFull(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "rows", Err: syscall.ENOSPC}
	if err := Full(full); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room and run again") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{nil, syscall.EACCES} {
		if got := Full(err); got != err {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}
