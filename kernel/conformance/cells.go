package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// archived is a case of an archive: cells, and all that they write to stdout.
type archived struct {
	name   string
	cells  []string
	expect string
}

// readArchive reads "=== name", cells separated by "---", "-- expect --" and the output.
func readArchive(text string) ([]archived, error) {
	var cases []archived
	for _, block := range strings.Split("\n"+text, "\n=== ")[1:] {
		name, body, _ := strings.Cut(block, "\n")
		body, expect, ok := strings.Cut("\n"+body, "\n-- expect --\n")
		if !ok {
			return nil, fmt.Errorf("case %s has no line \"-- expect --\"", name)
		}
		c := archived{name: strings.TrimSpace(name), expect: expect}
		for _, code := range strings.Split(body, "\n---\n") {
			c.cells = append(c.cells, strings.Trim(code, "\n"))
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("it has no case (\"=== name\")")
	}
	return cases, nil
}

// measureCells runs an archive under each mode and prints how each case did.
func measureCells(ctx context.Context, o options, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the cells: %w", err)
	}
	cases, err := readArchive(string(raw))
	if err != nil {
		return fmt.Errorf("read the cells of %s: %w", file, err)
	}
	cases = slices.DeleteFunc(cases, func(c archived) bool { return !o.run.MatchString(c.name) })
	answers := make([][]outcome, len(cases))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.workers)
	for i, c := range cases {
		group.Go(func() (err error) {
			answers[i], err = c.play(ctx, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var all []outcome
	for i, c := range cases {
		fmt.Print(c.line(answers[i]))
		all = append(all, answers[i]...)
	}
	return sum(o, file, all)
}

// line is a case's line of the table, and below it what was not as expected.
func (c archived) line(answers []outcome) string {
	line, details := fmt.Sprintf("%-40s", c.name), ""
	for _, a := range answers {
		line += fmt.Sprintf(" %-16s", a.mode+" "+passed(a.verdict))
		if a.verdict != equal {
			details += fmt.Sprintf("    %s: %s\n", a.mode, strings.ReplaceAll(a.detail, "\n", "\n    "))
		}
	}
	return strings.TrimRight(line, " ") + "\n" + details
}

// sum prints the last lines of the table. A case may be refused where it is interpreted; all else is an error.
func sum(o options, file string, all []outcome) error {
	bad := 0
	for _, mode := range o.modes {
		counts := map[verdict]int{}
		for _, a := range all {
			if a.mode == mode {
				counts[a.verdict]++
			}
		}
		failed := counts[wrong] + counts[died] + counts[tooSlow]
		fmt.Printf("%s, %s: %d pass, %d refused, %d WRONG\n", file, mode, counts[equal], counts[refused], failed)
		bad += failed
		if mode != "interp" {
			bad += counts[refused]
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %s are not as they should be", bad, file)
	}
	return nil
}

func passed(v verdict) string {
	if v == equal {
		return "pass"
	}
	return string(v)
}

// play runs a case under each mode.
func (c archived) play(ctx context.Context, o options) ([]outcome, error) {
	var out []outcome
	for _, mode := range o.modes {
		n := notebook{kernel: o.kernel, memory: o.memory, mode: mode, limit: o.limitFor(mode), goOn: true}
		p, err := n.play(ctx, c.cells)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.name, mode, err)
		}
		a := outcome{job: job{mode: mode}}
		a.verdict, a.detail = c.judge(p)
		out = append(out, a)
	}
	return out, nil
}

// judge compares a case's output. A cell that is refused ends it well enough if it printed nothing else before.
func (c archived) judge(p played) (verdict, string) {
	got, want := strings.TrimSpace(p.stdout), strings.TrimSpace(c.expect)
	switch {
	case p.late:
		return tooSlow, "not done in time"
	case got == want:
		return equal, ""
	case p.failure != nil && refusal(p.failure) && strings.HasPrefix(want, strings.TrimSpace(p.before)):
		return refused, strings.Join(p.failure.Traceback, "\n")
	case p.failure != nil:
		return wrong, strings.Join(p.failure.Traceback, "\n")
	}
	return wrong, "stdout " + firstDifference(got, want)
}
