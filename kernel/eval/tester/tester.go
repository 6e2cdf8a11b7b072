// Package tester runs tests, benchmarks, fuzz tests and examples as a test binary does, with package testing, in the process of the
// cells that declare them. It ends at the functions: which ones there are, and what a panic in one means, is the evaluator's business.
package tester

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/internal/cellio"
)

// Suite is what there is to run.
type Suite struct {
	Name       string // stands where go test names the package
	Tests      []testing.InternalTest
	Benchmarks []testing.InternalBenchmark
	Fuzz       []testing.InternalFuzzTarget
	Examples   []testing.InternalExample
}

// Run runs a suite with flags that Check has accepted, and writes to out what go test would print. Failed tells that a test failed.
// While it runs, what is written to os.Stdout, os.Stderr and the standard logger goes to out, too. A run that an interrupt leaves behind
// gives them back when its cell ends.
func (s Suite) Run(flags []string, out io.Writer) (failed bool, err error) {
	defer keepFlags()()
	if err := set(flags); err != nil {
		return false, err
	}
	restore, err := redirect(out)
	if err != nil {
		return false, err
	}
	defer restore()
	defer cellio.AtEnd(restore)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // package testing sets what it found when it ran first
	d := &deps{}
	begin := time.Now()
	code := testing.MainStart(d, s.Tests, s.Benchmarks, s.Fuzz, s.Examples).Run()
	verdict := "ok  "
	if code != 0 {
		verdict = "FAIL"
	}
	fmt.Printf("%s\t%s\t%.3fs\n", verdict, s.Name, time.Since(begin).Seconds())
	return code != 0, d.fault()
}

// redirect makes os.Stdout and os.Stderr a pipe into out, and the process's flags those of package testing, until restore is called,
// which waits for what is in the pipe: as go test does, until commands that tests have started have closed it, too.
func redirect(out io.Writer) (restore func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe for the output of tests: %w", err)
	}
	stdout, stderr, flags := os.Stdout, os.Stderr, flag.CommandLine
	os.Stdout, os.Stderr, flag.CommandLine = w, w, testFlags()
	logged := log.Writer()
	log.SetOutput(w)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		defer r.Close()
		if _, err := io.Copy(out, r); err != nil { // the cell was interrupted: whoever writes must not wait for it
			_, _ = io.Copy(io.Discard, r)
		}
	}()
	return sync.OnceFunc(func() {
		os.Stdout, os.Stderr, flag.CommandLine = stdout, stderr, flags
		log.SetOutput(logged)
		w.Close()
		select {
		case <-copied:
			return
		case <-interrupted():
			_ = r.SetReadDeadline(time.Now().Add(patience))
			<-copied
		}
	}), nil
}

// patience is how long, after an interrupt, commands that tests have started may keep the end of the output from being seen.
const patience = 100 * time.Millisecond

// interrupted is closed when the cell is interrupted; outside of one it is nil.
func interrupted() <-chan struct{} {
	run := cellio.CurrentRun()
	if run == nil {
		return nil
	}
	return run.Context().Done()
}

// testFlags are the flags of package testing. It keeps their values for itself and registers them once, with what is the process's
// flag set then: so that cells find the one that they know, it gets another.
var testFlags = sync.OnceValue(func() *flag.FlagSet {
	known := flag.CommandLine
	own := flag.NewFlagSet("test", flag.ContinueOnError)
	own.SetOutput(io.Discard)
	flag.CommandLine = own
	testing.Init()
	flag.CommandLine = known
	if own.Lookup("test.v") == nil { // a cell has called testing.Init
		own = known
	}
	if !own.Parsed() { // else package testing would read the process's arguments
		_ = own.Parse(nil)
	}
	return own
})

// supported are the flags that can be given, with the values that they have without.
func supported() map[string]string {
	return map[string]string{
		"v": "false", "run": "", "skip": "", "count": "1", "short": "false", "failfast": "false", "list": "", "shuffle": "off",
		"parallel": fmt.Sprint(runtime.GOMAXPROCS(0)), "bench": "", "benchtime": "1s", "benchmem": "false",
	}
}

// unset are flags of the process, where it is a test binary itself, that count for its own tests: those that have files written or
// the process ended.
func unset() map[string]string {
	return map[string]string{
		"testlogfile": "", "paniconexit0": "false", "timeout": "0s", "cpu": "", "fuzz": "", "trace": "", "coverprofile": "", "cpuprofile": "",
		"memprofile": "", "blockprofile": "", "mutexprofile": "",
	}
}

// all are the flags that a run sets, with their values.
func all() map[string]string {
	values := supported()
	maps.Copy(values, unset())
	return values
}

// Flags are the names of the flags that can be given, each with the sign in front.
func Flags() []string {
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(supported())) {
		flags = append(flags, "-"+name)
	}
	return flags
}

// Check refuses flags that are not supported, or have wrong values. They are written as go test's: -v, -run=x, -run x.
func Check(flags []string) error {
	defer keepFlags()()
	return set(flags)
}

// keepFlags remembers the flags' values; restore sets them again: they may be those of a test binary that runs this.
func keepFlags() (restore func()) {
	known, values := testFlags(), map[string]string{}
	for name := range all() {
		values["test."+name] = known.Lookup("test." + name).Value.String()
	}
	return func() {
		for name, value := range values {
			_ = known.Set(name, value) // it had it
		}
	}
}

// set gives the flags values: the given ones, and to the others what they have without.
func set(flags []string) error {
	known := testFlags()
	values := all()
	for i := 0; i < len(flags); i++ {
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(flags[i], "-"), "-"), "=")
		_, ok := supported()[name]
		switch {
		case !strings.HasPrefix(flags[i], "-"):
			return fmt.Errorf("%q is not a flag; -run takes a regular expression of names", flags[i])
		case !ok:
			return fmt.Errorf("there is no flag -%s; there are %s", name, strings.Join(Flags(), " "))
		case !given && isSwitch(known, name):
			value = "true"
		case !given && i+1 == len(flags):
			return fmt.Errorf("-%s needs a value", name)
		case !given:
			i++
			value = flags[i]
		}
		if err := checkValue(name, value); err != nil {
			return err
		}
		values[name] = value
	}
	for name, value := range values {
		if err := known.Set("test."+name, value); err != nil {
			return fmt.Errorf("invalid value %q for -%s: %s", value, name, strings.ReplaceAll(err.Error(), "-test.", "-"))
		}
	}
	return nil
}

func isSwitch(set *flag.FlagSet, name string) bool {
	b, ok := set.Lookup("test." + name).Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// checkValue refuses values for which package testing ends the process.
func checkValue(name, value string) error {
	switch name {
	case "run", "skip", "list", "bench":
		parts := []string{value}
		if !strings.ContainsAny(value, `([\`) { // where each slash parts the names of tests and their subtests
			parts = strings.Split(value, "/")
		}
		for _, part := range parts {
			if _, err := regexp.Compile(part); err != nil {
				return fmt.Errorf("-%s: %w", name, err)
			}
		}
	case "parallel":
		if strings.HasPrefix(value, "-") || value == "0" {
			return errors.New("-parallel takes a positive number")
		}
	}
	return nil
}
