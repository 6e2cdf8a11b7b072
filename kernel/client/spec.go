package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ErrNoSpec reports that no kernelspec of that name is installed.
var ErrNoSpec = errors.New("no such kernelspec")

// Spec is an installed kernel, as its kernel.json describes it.
type Spec struct {
	Dir           string            `json:"-"`    // where kernel.json lies
	Argv          []string          `json:"argv"` // with {connection_file} and {resource_dir} to be filled in
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"` // "signal" (also when empty) or "message"
	Env           map[string]string `json:"env"`
	Metadata      Metadata          `json:"metadata"`
}

// Metadata is what a kernelspec says beside what Jupyter's protocol asks, as far as a client needs it.
type Metadata struct {
	SupportedEncryption Words `json:"supported_encryption"` // "curve", or nothing
}

// Words are a word or a list of words, as kernelspecs have either. What is neither is no word.
type Words []string

// UnmarshalJSON reads a word or a list.
func (w *Words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = Words{one}
		return nil
	}
	_ = json.Unmarshal(raw, (*[]string)(w)) // what others write there is no reason not to start a kernel
	return nil
}

// encrypts tells whether the kernel knows CurveZMQ. jupyter_client compares so, too.
func (m Metadata) encrypts() bool {
	return slices.ContainsFunc(m.SupportedEncryption, func(word string) bool { return strings.EqualFold(strings.TrimSpace(word), "curve") })
}

// ReadSpec reads the kernelspec in dir.
func ReadSpec(dir string) (Spec, error) {
	path := filepath.Join(dir, "kernel.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("read kernelspec: %w", err)
	}
	s := Spec{Dir: dir}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Spec{}, fmt.Errorf("read kernelspec %s: %w", path, err)
	}
	if len(s.Argv) == 0 {
		return Spec{}, fmt.Errorf("read kernelspec %s: it has no argv", path)
	}
	return s, nil
}

// FindSpec returns the kernelspec of that name from the first of [SpecDirs] that has it, or an error that wraps ErrNoSpec.
func FindSpec(name string) (Spec, error) {
	dirs := SpecDirs()
	for _, dir := range dirs {
		s, err := ReadSpec(filepath.Join(dir, name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return Spec{}, fmt.Errorf("%w: %q is in none of %s", ErrNoSpec, name, strings.Join(dirs, ", "))
}

// SpecDirs lists where Jupyter looks for kernelspecs, first place first: $JUPYTER_PATH, the user's data folder, and the
// system's.
func SpecDirs() []string {
	dirs := filepath.SplitList(os.Getenv("JUPYTER_PATH"))
	if d := os.Getenv("JUPYTER_DATA_DIR"); d != "" {
		dirs = append(dirs, d)
	} else if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, userData(home))
	}
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		dirs = append(dirs, filepath.Join(venv, "share", "jupyter"))
	}
	dirs = append(dirs, "/usr/local/share/jupyter", "/usr/share/jupyter")
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], "kernels")
	}
	return dirs
}

func userData(home string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter")
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "jupyter")
	}
	return filepath.Join(home, ".local", "share", "jupyter")
}
