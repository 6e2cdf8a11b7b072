package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/stream/internal/files"
)

// Folder keeps snapshots in a folder, which is made when the first is written: a folder for each unit, and a file for each snapshot in it, with the
// epoch as its name. Several processes of one machine may share it, or of several machines where the file system is shared and has hard links.
func Folder(path string) Place { return folder(path) }

type folder string

// String implements Place.
func (f folder) String() string { return string(f) }

// suffix is what the names of snapshots end with. Files that are being written have another one, and are nobody's.
const suffix = ".snapshot"

// writing is what the names of files begin with that are being written.
const writing = "writing-"

func (f folder) unit(name string) string { return filepath.Join(string(f), url.PathEscape(name)) }

func (f folder) file(unit string, epoch int64) string {
	return filepath.Join(f.unit(unit), fmt.Sprintf("%012d%s", epoch, suffix))
}

// List implements Place.
func (f folder) List(_ context.Context, unit string) ([]int64, error) {
	entries, err := os.ReadDir(f.unit(unit))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var epochs []int64
	for _, entry := range entries {
		number, is := strings.CutSuffix(entry.Name(), suffix)
		if epoch, err := strconv.ParseInt(number, 10, 64); is && err == nil && epoch > 0 {
			epochs = append(epochs, epoch)
		}
	}
	slices.Sort(epochs)
	return epochs, nil
}

// Read implements Place.
func (f folder) Read(_ context.Context, unit string, epoch int64) ([]byte, error) {
	return os.ReadFile(f.file(unit, epoch))
}

// Write implements Place: the file is on the disk before it gets its name, which it gets only if no other has it.
//
// A name that was free may be that of a snapshot which has been removed, since there are later ones. It then stays: nobody needs it, and where it was
// the newest for a moment, the next one may need it.
func (f folder) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	err := f.write(unit, epoch, pieces)
	if err == nil {
		err = f.last(ctx, unit, epoch)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: write snapshot %d: %w", f, epoch, files.Full(err))
	}
	return nil
}

// last returns ErrTaken if there is a later snapshot of a unit.
func (f folder) last(ctx context.Context, unit string, epoch int64) error {
	all, err := f.List(ctx, unit)
	if err == nil && all[len(all)-1] > epoch {
		return ErrTaken
	}
	return err
}

func (f folder) write(unit string, epoch int64, pieces [][]byte) (err error) {
	dir := f.unit(unit)
	if err := f.make(dir); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(dir, writing+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	for _, piece := range pieces {
		if _, err = temporary.Write(piece); err != nil {
			break
		}
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), f.file(unit, epoch)); errors.Is(err, fs.ErrExist) {
		return ErrTaken
	} else if err != nil {
		return err
	}
	return files.SyncFolder(dir)
}

// make makes the folder of a unit, if it is not there, so that it stays.
func (f folder) make(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return errors.Join(files.SyncFolder(string(f)), files.SyncFolder(filepath.Dir(string(f))))
}

// abandoned is how old a file is, that was being written, when nobody writes it any more.
const abandoned = 10 * time.Minute

// Remove implements Place. What processes have left that were killed while they wrote a snapshot goes with it.
func (f folder) Remove(_ context.Context, unit string, epoch int64) error {
	if err := os.Remove(f.file(unit, epoch)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	entries, err := os.ReadDir(f.unit(unit))
	if err != nil {
		return nil // there is nothing left, or List will say what is wrong
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if strings.HasPrefix(entry.Name(), writing) && err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(f.unit(unit), entry.Name())) // another process may have been first
		}
	}
	return nil
}
