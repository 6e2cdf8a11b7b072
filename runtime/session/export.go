package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cancha/internal/running"
)

// Export writes metrics to path as indented JSON. Folders are made as needed, and the file appears whole or not at all: who
// reads it while it is replaced sees the old one. A value that JSON cannot hold, such as NaN, is an error.
func Export(path string, metrics any) error {
	raw, err := json.MarshalIndent(metrics, "", "  ")
	if err != nil {
		return fmt.Errorf("session: export metrics to %s: %w", path, err)
	}
	if path, err = Out(filepath.Dir(path), filepath.Base(path)); err != nil {
		return err
	}
	job := running.NewJob(running.Export, filepath.Base(path), 1, "files")
	err = job.Do(func() error {
		defer job.Advance(1)
		job.Handle(0, int64(len(raw)+1))
		return replace(path, append(raw, '\n'))
	})
	if err != nil {
		return fmt.Errorf("session: export metrics to %s: %w", path, err)
	}
	return nil
}

// Out returns the path of a file in a folder for output and makes the folders on the way. An empty folder is the current one.
func Out(folder, name string) (string, error) {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("session: make the folder of %s: %w", path, err)
	}
	return path, nil
}

// replace writes beside path and renames.
func replace(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error before it is the one that counts
	}
	return err
}
