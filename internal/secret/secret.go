// Package secret is the token by which a page or a port knows who asks: how long it is at least, and a file of one user's alone
// that has one. It ends at the text: who has to show it, and where, is the business of what listens.
package secret

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Least is how long a token is at least, in characters: nobody guesses so many over a network.
const Least = 16

// Check tells why a text is no token. It does not show the text.
func Check(token string) error {
	if n := utf8.RuneCountInString(token); n < Least {
		return fmt.Errorf("a token of %d characters can be guessed: write at least %d, or leave it out", n, Least)
	}
	if strings.ContainsFunc(token, unicode.IsControl) {
		return errors.New("a token has no control characters, such as the end of a line: no header could carry it")
	}
	return nil
}

// File returns the token that a file of a folder has, and makes both where they are not there. The file is this user's alone
// (mode 0600): whoever can read it is this user, or root. One that others can read or write, or that is another user's, is an error.
func File(folder, name string) (token, path string, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return "", "", err
	}
	path = filepath.Join(folder, name)
	if token, err = read(path); errors.Is(err, fs.ErrNotExist) {
		if err = create(folder, path); err == nil || errors.Is(err, fs.ErrExist) { // another process was first
			token, err = read(path)
		}
	}
	if err != nil {
		return "", "", fmt.Errorf("the token's file %s: %w", path, err)
	}
	return token, path, nil
}

// mostBytes is how much of the file is read.
const mostBytes = 4096

func read(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a link, or a pipe, was put there by somebody
	if errors.Is(err, syscall.ELOOP) {
		return "", errors.New("it is a link; remove it, and another one is made")
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := private(f); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if err := Check(token); err != nil {
		return "", fmt.Errorf("%w; or remove it, and another one is made", err)
	}
	return token, nil
}

// private tells where a file is not this user's alone.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is no file; remove it, and another one is made")
	case known && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, and this is %d; give another folder", owner.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may use it (mode %04o), so that it may be known; remove it, and another one is made", info.Mode().Perm())
	}
	return nil
}

// create writes a token by chance, whole or not at all.
func create(folder, path string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, ".token-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(rand.Text() + "\n")
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	err = os.Link(draft.Name(), path) // never in the place of one that is there
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return os.Rename(draft.Name(), path) // a file system without links
	}
	return err
}
