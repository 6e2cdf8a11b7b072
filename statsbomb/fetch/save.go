package fetch

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cancha/statsbomb"
)

// partSuffix ends the names of files that are being written; statsbomb's reader does not look at them.
const partSuffix = ".part"

// stale is how old a file in writing must be to be one that a killed fetch left: another fetch may be running.
const stale = 10 * time.Minute

// sweep makes the folder and removes what a killed fetch left. A folder of another source is refused: its matches would be taken
// for ones that are there.
func (f *fetcher) sweep() error {
	if f.Dir == "" {
		return errors.New("no folder named")
	}
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return full(err)
	}
	if err := f.sameSource(); err != nil {
		return err
	}
	return filepath.WalkDir(f.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, partSuffix) {
			return err
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > stale {
			return os.Remove(path)
		}
		return nil
	})
}

func (f *fetcher) sameSource() error {
	got, want := statsbomb.SourceOf(f.Dir), f.source()
	entries, err := os.ReadDir(filepath.Join(f.Dir, "matches"))
	if got == want || got == statsbomb.SourceOpenData && (err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)) {
		return nil
	}
	return fmt.Errorf("the folder holds matches of another source (%s, not %s); name a new one", got, want)
}

// save writes a file under its name only when it is whole: the lists plain, so that people can read them, the rest compressed.
func (f *fetcher) save(one file, text []byte) error {
	path := filepath.Join(f.Dir, filepath.FromSlash(one.name))
	if !one.anew {
		path += ".gz"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return full(err)
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+partSuffix)
	if err != nil {
		return full(err)
	}
	err = write(part, text, !one.anew)
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
		return fmt.Errorf("write %s: %w", path, full(err))
	}
	return nil
}

// write fills and closes a file. Its content reaches the disk before its name does: a power cut leaves no empty file that
// would pass for a whole one.
func write(part *os.File, text []byte, compress bool) error {
	err := fill(part, text, compress)
	if err == nil {
		err = part.Chmod(0o644)
	}
	if err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	return err
}

func fill(part *os.File, text []byte, compress bool) error {
	if !compress {
		_, err := part.Write(text)
		return err
	}
	z := gzip.NewWriter(part)
	if _, err := z.Write(text); err != nil {
		return err
	}
	return z.Close()
}

// full says what to do about a full disk.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is full; make room and run again, what is there stays: %w", err)
	}
	return err
}
