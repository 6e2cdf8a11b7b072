package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// median is the middle of what turns say, the lower of two.
func median[T float64 | int64](turns []outcome, of func(outcome) T) T {
	values := make([]T, len(turns))
	for i, o := range turns {
		values[i] = of(o)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// agree tells whether all turns of all engines gave the same rows: as many, and columns whose sums differ by at most a billionth.
func agree(all map[string][]outcome) error {
	want := all["local"][0]
	for engine, turns := range all {
		for _, o := range turns {
			if o.Rows != want.Rows || len(o.Sums) != len(want.Sums) {
				return fmt.Errorf("%s: %d rows of %d columns, the local engine %d of %d", engine, o.Rows, len(o.Sums), want.Rows, len(want.Sums))
			}
			for k, x := range want.Sums {
				if math.Abs(o.Sums[k]-x) > 1e-9*math.Abs(x) {
					return fmt.Errorf("%s: column %d adds up to %g, the local engine's to %g", engine, k, o.Sums[k], x)
				}
			}
		}
	}
	if want.Rows == 0 {
		return errors.New("no rows")
	}
	return nil
}

// report prints the table, in Markdown.
func (s settings) report(out io.Writer, all map[string][]outcome) error {
	if err := agree(all); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %d processors, %s, %s; %d events of 764 bytes in %d partitions, %d rows, the same from each; medians of %d turns\n\n",
		processor(), runtime.NumCPU(), memory(), time.Now().UTC().Format(time.DateOnly), s.events, partitions, all["local"][0].Rows, s.turns)
	fmt.Fprintln(out, "| engine | s | events/s | each turn, s | CPU s of this process | of the JVM | peak MB of this process | of the JVM |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, engine := range []string{"local", "checkpoint", "spark"} {
		s.line(out, engine, all[engine])
	}
	mean := func(engine string) float64 { return median(all[engine], func(o outcome) float64 { return o.Seconds }) }
	cpu := func(engine string) float64 {
		return median(all[engine], func(o outcome) float64 { return o.CPU + o.JVM })
	}
	fmt.Fprintf(out, "\nSpark by local: %.1fx the time, %.1fx the processor; by local with a checkpoint: %.1fx, %.1fx.\n",
		mean("spark")/mean("local"), cpu("spark")/onlyMine(all["local"]), mean("spark")/mean("checkpoint"), cpu("spark")/onlyMine(all["checkpoint"]))
	first := all["spark"][0]
	fmt.Fprintf(out, "Not in the table: the server's start, %s; connecting, %.2f s. Spark's first batch of the first turn took %.1f s, of the last %.1f s.\n",
		s.started, median(all["spark"], func(o outcome) float64 { return o.Connect }), first.First, all["spark"][s.turns-1].First)
	return nil
}

// onlyMine are the processor seconds of the local engine, in which the JVM has no part.
func onlyMine(turns []outcome) float64 {
	return median(turns, func(o outcome) float64 { return o.CPU })
}

// line prints the row of an engine.
func (s settings) line(out io.Writer, engine string, turns []outcome) {
	names := map[string]string{"local": "local", "checkpoint": "local, with a checkpoint", "spark": "Spark local[2]"}
	var each []string
	for _, o := range turns {
		each = append(each, fmt.Sprintf("%.1f", o.Seconds))
	}
	jvm, resident := "-", "-"
	if engine == "spark" {
		jvm = fmt.Sprintf("%.1f", median(turns, func(o outcome) float64 { return o.JVM }))
		resident = fmt.Sprint(median(turns, func(o outcome) int64 { return o.JVMResident }) / 1e6)
	}
	seconds := median(turns, func(o outcome) float64 { return o.Seconds })
	fmt.Fprintf(out, "| %s | %.2f | %.0f | %s | %.1f | %s | %d | %s |\n", names[engine], seconds, float64(s.events)/seconds, strings.Join(each, ", "),
		onlyMine(turns), jvm, median(turns, func(o outcome) int64 { return o.Resident })/1e6, resident)
}

// processor is what the machine has, as Linux names it.
func processor() string { return field("/proc/cpuinfo", "model name") }

// memory is how much of it the machine has, as Linux counts it.
func memory() string { return field("/proc/meminfo", "MemTotal") + " of memory" }

// field is what stands behind a name and a colon in a file of such lines.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown " + name
	}
	for line := range bytes.Lines(text) {
		if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == name {
			return string(bytes.TrimSpace(value))
		}
	}
	return "unknown " + name
}
