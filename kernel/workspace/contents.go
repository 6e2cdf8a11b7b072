package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// contents is what a whole workspace consists of.
type contents struct {
	Size  int64           `json:"size"` // of all, in bytes
	Files map[string]file `json:"files"`
}

// file is one that cells need. The sources are not among them: only the engine's build reads those.
type file struct {
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
}

// errDamaged is wrapped by what is said of a workspace that lacks something.
var errDamaged = errors.New("damaged")

// add lists the files below a part of a workspace, which may be a file itself, with their sums.
func (c *contents) add(dir, part string) error {
	return filepath.WalkDir(filepath.Join(dir, part), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := summed(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		c.Files[filepath.ToSlash(rel)] = f
		return err
	})
}

func summed(name string) (file, error) {
	f, err := os.Open(name)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return file{n, hex.EncodeToString(h.Sum(nil))}, err
}

// sizeOf adds up the files below a folder.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// whole returns what a workspace says of itself if it is complete: every file that cells need is there in its size. Their
// sums are read by intact only; reading some hundred megabytes is nothing for the start of a session.
func whole(dir string) (Manifest, contents, error) {
	var c contents
	m, err := readManifest(dir)
	if err != nil {
		return m, c, err
	}
	if err := readJSON(filepath.Join(dir, contentsName), &c); err != nil {
		return m, c, err
	}
	for name, want := range c.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return m, c, fmt.Errorf("%w: %w", errDamaged, err)
		}
		if info.Size() != want.Size {
			return m, c, fmt.Errorf("%w: %s has %d bytes, not %d", errDamaged, name, info.Size(), want.Size)
		}
	}
	for _, tool := range []string{m.Compile, m.Link} {
		if _, err := os.Stat(tool); err != nil {
			return m, c, fmt.Errorf("the toolchain has gone: %w", err)
		}
	}
	return m, c, nil
}

// intact compares every file that cells need with its sum.
func intact(dir string, c contents) error {
	for name, want := range c.Files {
		got, err := summed(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		if got != want {
			return fmt.Errorf("%w: %s is not what was built", errDamaged, name)
		}
	}
	return nil
}
