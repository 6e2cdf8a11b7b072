package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// subject is a program to be compared, and what it does when compiled.
type subject struct {
	name   string
	source string // with the sentinel
	mutant bool
	want   behaviour
}

// job is one comparison: a subject in one shape under one engine.
type job struct {
	subject
	shape shape
	mode  string
}

// outcome is how a comparison went.
type outcome struct {
	job
	verdict verdict
	detail  string
	took    time.Duration
}

// measurePrograms compares Go's test programs.
func measurePrograms(ctx context.Context, o options) error {
	excluded, err := readExclusions(exclusionsText)
	if err != nil {
		return err
	}
	tree, err := findTree(o.tree)
	if err != nil {
		return err
	}
	programs, err := readTree(tree)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return excluded[p.name] != "" })
	fmt.Printf("%d programs in %s, %d of them left out (%.1f %%; exclusions.txt tells why)\n",
		len(programs), tree, len(programs)-len(left), 100*float64(len(programs)-len(left))/float64(len(programs)))
	left = slices.DeleteFunc(left, func(p program) bool { return !o.run.MatchString(p.name) })
	o.tree = tree
	subjects, err := consult(ctx, o, choose(left, o.n, o.seed))
	if err != nil {
		return err
	}
	outcomes, err := compare(ctx, o, jobs(o, subjects, excluded))
	if err != nil {
		return err
	}
	if err := writeReport(o, outcomes); err != nil {
		return err
	}
	fmt.Print(table(outcomes))
	fmt.Print(times(outcomes))
	return assess(outcomes)
}

// long is how long a program runs whose time can be compared: compiling its cells takes a third of a second, and counts.
const long = time.Second

// times compares compiled cells with the compiled programs that run long.
func times(outcomes []outcome) string {
	var b strings.Builder
	for _, out := range outcomes {
		if out.mode != "interp" && out.verdict == equal && out.want.Took >= long {
			fmt.Fprintf(&b, "%-30s %5.1f s, compiled program %5.1f s, %.2f times\n", out.title(), out.took.Seconds(), out.want.Took.Seconds(), out.took.Seconds()/out.want.Took.Seconds())
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nprograms that run for a second or longer, with the time to compile their cells:\n" + b.String()
}

// consult asks what programs and mutants do when compiled. A program that is chosen for a mutant keeps the first whose
// inverted check shows.
func consult(ctx context.Context, o options, programs []program) ([]subject, error) {
	ask := oracle{filepath.Join(o.out, "oracle"), o.tree, o.fresh}
	found := make([][]subject, len(programs))
	mutated := map[string]bool{}
	for _, p := range choose(programs, min(2*o.mutants, len(programs)), o.seed+1) { // half of them have no check to invert
		mutated[p.name] = o.mutants > 0
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.workers)
	for i, p := range programs {
		group.Go(func() (err error) {
			found[i], err = subjectsOf(ctx, ask, p, mutated[p.name], o.seed)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []subject
	left := o.mutants
	for _, s := range slices.Concat(found...) {
		if s.mutant {
			if left == 0 {
				continue
			}
			left--
		}
		all = append(all, s)
	}
	return all, nil
}

// mutantTries bounds how many checks of one program are inverted in search of one that shows.
const mutantTries = 3

// subjectsOf returns a program, and a mutant of it if one is wanted and shows.
func subjectsOf(ctx context.Context, ask oracle, p program, mutate bool, seed uint64) ([]subject, error) {
	source, err := withSentinel(p.source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	want, err := ask.ask(ctx, p.name, source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	out := []subject{{name: p.name, source: source, want: want}}
	if !mutate || want.Fault != "" || want.Unsteady {
		return out, nil
	}
	for i, source := range mutants(source, seed) {
		if i == mutantTries {
			break
		}
		changed, err := ask.ask(ctx, p.name, source)
		if err != nil {
			return nil, fmt.Errorf("mutant of %s: %w", p.name, err)
		}
		if changed.Fault == "" && !changed.Unsteady && difference(changed, want) != "" {
			return append(out, subject{name: p.name, source: source, mutant: true, want: changed}), nil
		}
	}
	return out, nil
}

// jobs lists all comparisons, one mode after the other.
func jobs(o options, subjects []subject, excluded map[string]string) (all []job) {
	for _, mode := range o.modes {
		for _, s := range subjects {
			for _, shape := range []shape{whole, split} {
				if excluded[s.name+" "+string(shape)] == "" {
					all = append(all, job{s, shape, mode})
				}
			}
		}
	}
	return all
}

// compare runs all comparisons, o.workers at a time.
func compare(ctx context.Context, o options, all []job) ([]outcome, error) {
	outcomes := make([]outcome, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.workers)
	var mu sync.Mutex
	done := 0
	for i, j := range all {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			outcomes[i] = j.compare(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			if done++; done%100 == 0 {
				fmt.Fprintf(os.Stderr, "%d of %d\n", done, len(all))
			}
			return ctx.Err()
		})
	}
	return outcomes, group.Wait()
}

func (j job) compare(ctx context.Context, o options) outcome {
	out := outcome{job: j}
	switch {
	case j.want.Fault != "":
		out.verdict, out.detail = wrong, "the compiled program tells nothing, and belongs among the exclusions: "+j.want.Fault
		return out
	case j.want.Unsteady:
		out.verdict, out.detail = wrong, "the compiled program does something else each time, and belongs among the exclusions"
		return out
	}
	cells, err := cellsOf(j.source, j.shape)
	if err != nil {
		out.verdict, out.detail = wrong, err.Error()
		return out
	}
	n := notebook{kernel: o.kernel, memory: o.memory, dir: o.tree, mode: j.mode, limit: o.limitFor(j.mode)}
	p, err := n.play(ctx, cells)
	if err != nil {
		out.verdict, out.detail = died, "no answer from the kernel: "+err.Error()
		return out
	}
	out.took = p.took
	out.verdict, out.detail = judge(p, j.want)
	if out.verdict == wrong && j.mayDo(ctx, o, p) {
		out.verdict, out.detail = equal, ""
	}
	return out
}

// chances is how often a compiled program is run again to see whether it does by chance what cells did.
const chances = 8

// mayDo tells whether the compiled program, run again, does what the cells did: some choose among cases of a select.
func (j job) mayDo(ctx context.Context, o options, p played) bool {
	again := oracle{tree: o.tree}
	for range chances / 2 {
		first, second, err := again.twice(ctx, path.Base(j.name), j.source)
		if err != nil {
			return false
		}
		for _, b := range []behaviour{first, second} {
			if v, _ := judge(p, b); v == equal {
				return true
			}
		}
	}
	return false
}

// writeReport writes, for each mode, what was not equal, with its first difference.
func writeReport(o options, outcomes []outcome) error {
	for _, mode := range o.modes {
		var b strings.Builder
		for _, v := range verdicts()[1:] {
			for _, out := range outcomes {
				if out.mode == mode && out.verdict == v {
					fmt.Fprintf(&b, "%s\t%s\t%.1fs\n", v, out.title(), out.took.Seconds())
					for line := range strings.Lines(out.detail) {
						fmt.Fprintf(&b, "\t%s\n", strings.TrimRight(line, "\n"))
					}
				}
			}
		}
		file := filepath.Join(o.out, "report-"+mode+".txt")
		if err := keep(file, []byte(b.String())); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		fmt.Printf("what was not equal: %s\n", file)
	}
	return nil
}

func (j job) title() string {
	text := fmt.Sprintf("%s (%s)", j.name, j.shape)
	if j.mutant {
		text += " mutant"
	}
	return text
}

// table counts verdicts by mode and shape.
func table(outcomes []outcome) string {
	type row struct {
		mode, kind string
		shape      shape
	}
	var rows []row
	counts := map[row]map[verdict]int{}
	for _, out := range outcomes {
		r := row{out.mode, "programs", out.shape}
		if out.mutant {
			r.kind = "mutants"
		}
		if counts[r] == nil {
			rows = append(rows, r)
			counts[r] = map[verdict]int{}
		}
		counts[r][out.verdict]++
		counts[r][""]++
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return strings.Compare(a.mode+b.kind+string(a.shape), b.mode+a.kind+string(b.shape))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-7s %-9s %-5s", "engine", "", "shape")
	for _, v := range verdicts() {
		fmt.Fprintf(&b, " %9s", v)
	}
	fmt.Fprintf(&b, " %9s\n", "of")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-7s %-9s %-5s", r.mode, r.kind, r.shape)
		for _, v := range append(verdicts(), "") {
			fmt.Fprintf(&b, " %9d", counts[r][v])
		}
		fmt.Fprintf(&b, "  %5.1f %%\n", 100*float64(counts[r][equal])/float64(counts[r][""]))
	}
	return b.String()
}

// enough is the part of the programs that has to be equal where cells are compiled.
const enough = 0.95

// assess is the error where the result is not good enough: something wrong when interpreted, or too little equal when not.
func assess(outcomes []outcome) error {
	bad, same, all := 0, 0, 0
	for _, out := range outcomes {
		if out.mode == "interp" {
			if out.verdict == wrong || out.verdict == died {
				bad++
			}
			continue
		}
		all++
		if out.verdict == equal {
			same++
		}
	}
	if bad > 0 {
		return fmt.Errorf("interpreted, %d did something else than compiled Go without saying so", bad)
	}
	if float64(same) < enough*float64(all) {
		return fmt.Errorf("%d of %d equal, fewer than %.0f %%", same, all, 100*enough)
	}
	return nil
}
