package tester

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"time"
)

// entry is a seed of a fuzz test, as package testing has it.
type entry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

// deps is what package testing asks of a test binary. What only other flags than the supported ones need does nothing.
type deps struct{ wrong error }

// MatchString matches a name. Package testing ends the process on an error, so a wrong expression, or a wrong part of one between slashes,
// matches nothing here and is reported afterwards.
func (d *deps) MatchString(pattern, name string) (bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		d.wrong = err
		return false, nil
	}
	return re.MatchString(name), nil
}

func (d *deps) fault() error { return d.wrong }

// ImportPath is that of all cells.
func (*deps) ImportPath() string { return "main" }

// ModulePath has none.
func (*deps) ModulePath() string { return "" }

// CheckCorpus refuses seeds of other types than the fuzz test's.
func (*deps) CheckCorpus(values []any, types []reflect.Type) error {
	if len(values) != len(types) {
		return fmt.Errorf("wrong number of values in corpus entry: %d, want %d", len(values), len(types))
	}
	for i, v := range values {
		if t := reflect.TypeOf(v); t != types[i] {
			return fmt.Errorf("mismatched types in corpus entry: %v, want %v", t, types[i])
		}
	}
	return nil
}

// ReadCorpus finds no seeds but those that a fuzz test adds.
func (*deps) ReadCorpus(string, []reflect.Type) ([]entry, error) { return nil, nil }

var errFuzzing = errors.New("cells run the seeds of fuzz tests only")

func (*deps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []entry, []reflect.Type, string, string) error {
	return errFuzzing
}
func (*deps) RunFuzzWorker(func(entry) error) error       { return errFuzzing }
func (*deps) SetPanicOnExit0(bool)                        {}
func (*deps) StartCPUProfile(io.Writer) error             { return nil }
func (*deps) StopCPUProfile()                             {}
func (*deps) StartTestLog(io.Writer)                      {}
func (*deps) StopTestLog() error                          { return nil }
func (*deps) WriteProfileTo(string, io.Writer, int) error { return nil }
func (*deps) ResetCoverage()                              {}
func (*deps) SnapshotCoverage()                           {}

// InitRuntimeCoverage tells that nothing is covered.
func (*deps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {
	return "", nil, nil
}
