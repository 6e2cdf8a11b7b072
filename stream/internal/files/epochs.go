package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Epochs names the files of a folder that hold the rows of one epoch each: by the query, the unit of it and the epoch. A file is made by Partial and
// Complete, so the greatest number among the names of a unit is the last epoch whose rows are there. Its methods may be called at the same time.
type Epochs struct {
	Dir, Suffix string

	mu     sync.Mutex
	run    string            // of the query that has it open
	begins map[string]string // by unit, what the names of its files begin with; nil: it is not open
}

// ErrServes refuses a sink to a second query.
var ErrServes = errors.New("the sink serves another query that runs: make one of its own for each query, or wait for the end of that one")

// Open makes the folder and begins with a unit, or begins anew. It returns the last epoch of the unit that is there, 0 if none is. Until Close it is open
// for one run of a query.
func (e *Epochs) Open(run, query, unit string) (last int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begins != nil && e.run != run {
		return 0, ErrServes
	}
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return 0, fmt.Errorf("write rows: %w", Full(err))
	}
	begins := fmt.Sprintf("%.8s-%s-", query, url.PathEscape(strings.ReplaceAll(unit, " ", "-")))
	if last, err = e.last(begins); err != nil {
		return 0, fmt.Errorf("write rows: %w", err)
	}
	if e.begins == nil {
		e.run, e.begins = run, map[string]string{}
	}
	e.begins[unit] = begins
	return last, nil
}

// Place tells where these files are: two that are equal have the same names.
func (e *Epochs) Place() string { return filepath.Join(Place(e.Dir), "*"+e.Suffix) }

// last is the greatest epoch among files whose names begin so.
func (e *Epochs) last(begins string) (last int64, err error) {
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		rest, is := strings.CutPrefix(entry.Name(), begins)
		number, whole := strings.CutSuffix(rest, e.Suffix)
		if epoch, err := strconv.ParseInt(number, 10, 64); is && whole && err == nil {
			last = max(last, epoch)
		}
	}
	return last, nil
}

// Next returns the path of an epoch's file that is to be written; "" if it is there, with the same rows. The unit must be open.
func (e *Epochs) Next(unit string, epoch int64) (path string, err error) {
	e.mu.Lock()
	begins, open := e.begins[unit]
	e.mu.Unlock()
	if !open {
		return "", fmt.Errorf("the folder is not open for %q", unit)
	}
	path = filepath.Join(e.Dir, fmt.Sprintf("%s%012d%s", begins, epoch, e.Suffix))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// Close ends all units.
func (e *Epochs) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begins = nil
}
