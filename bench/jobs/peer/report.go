package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"
)

// outcome is one measurement.
type outcome struct {
	took    []float64 // seconds of each job from its submission to its result, sorted
	seconds float64   // of the measurement

	rate     float64 // jobs a second
	p50, p99 float64 // milliseconds
}

func (o outcome) finish() outcome {
	slices.Sort(o.took)
	o.rate = float64(len(o.took)) / o.seconds
	o.p50, o.p99 = 1e3*percentile(o.took, 50), 1e3*percentile(o.took, 99)
	return o
}

// percentile is the smallest of some sorted numbers that at least p of a hundred do not exceed (nearest rank); 0 of none.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}

// median is the middle of some numbers, the lower of two.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[(len(values)-1)/2]
}

// results are those of all turns.
type results struct {
	order []contestant
	of    map[string][]outcome // by name, what carries the jobs, and how many are in flight
}

func key(c contestant, flight int) string { return fmt.Sprint(c.name, "/", c.over, "/", flight) }

func (r *results) add(c contestant, flight int, o outcome) {
	if r.of == nil {
		r.of = map[string][]outcome{}
	}
	if !slices.ContainsFunc(r.order, func(k contestant) bool { return key(k, 0) == key(c, 0) }) {
		r.order = append(r.order, c)
	}
	r.of[key(c, flight)] = append(r.of[key(c, flight)], o)
}

func (r *results) median(c contestant, flight int, of func(outcome) float64) float64 {
	var values []float64
	for _, o := range r.of[key(c, flight)] {
		values = append(values, of(o))
	}
	return median(values)
}

// report prints the table, in Markdown.
func (s settings) report(out io.Writer, r results) error {
	fmt.Fprintf(out, "%s, %d processors, %s; medians of %d turns of %v each, after %v\n\n", processor(), runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly), s.turns, s.span, s.warm)
	fmt.Fprintln(out, "| jobs that do nothing | over | alone: p50 ms | p99 ms | jobs/s | 100 in flight: jobs/s | p50 ms | p99 ms | 1,000 in flight: jobs/s | p50 ms | p99 ms |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	rate, p50, p99 := func(o outcome) float64 { return o.rate }, func(o outcome) float64 { return o.p50 }, func(o outcome) float64 { return o.p99 }
	for _, c := range r.order {
		fmt.Fprintf(out, "| %s | %s |", c.name, c.over)
		for i, flight := range flights() {
			columns := []func(outcome) float64{rate, p50, p99}
			if i == 0 {
				columns = []func(outcome) float64{p50, p99, rate}
			}
			for _, of := range columns {
				fmt.Fprintf(out, " %s |", digits(r.median(c, flight, of)))
			}
		}
		fmt.Fprintln(out)
	}
	return nil
}

func digits(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// processor is what the machine has, as Linux names it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range bytes.Lines(text) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return "unknown processor"
}
