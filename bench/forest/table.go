package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// summary is what a library's turns of one case come to: medians.
type summary struct {
	result
	turns    int
	fastest  float64 // seconds of the fit
	slowest  float64
	failures int
}

// summarize returns the medians of some results of one task. Those that failed do not count.
func summarize(all []result) (s summary) {
	var fits, predicts []step
	var one, accuracy, loss, seconds []float64
	for _, r := range all {
		if r.Failed != "" {
			s.failures++
			s.Failed = r.Failed
			continue
		}
		if r.Fit != nil {
			fits, seconds = append(fits, *r.Fit), append(seconds, r.Fit.Seconds)
		}
		predicts, one = append(predicts, r.Predict), append(one, r.OneRow)
		accuracy, loss = append(accuracy, r.Accuracy), append(loss, r.LogLoss)
		s.turns, s.Note, s.Version = s.turns+1, r.Note, r.Version
	}
	s.task = all[0].task
	if s.turns == 0 {
		return s
	}
	if len(fits) > 0 {
		fit := medianStep(fits)
		s.Fit, s.fastest, s.slowest = &fit, slices.Min(seconds), slices.Max(seconds)
	}
	s.Predict, s.OneRow, s.Accuracy, s.LogLoss = medianStep(predicts), median(one), median(accuracy), median(loss)
	return s
}

// table writes all results as Markdown: what was measured where, then a table of each size and depth, and what the libraries have to say.
func table(all []result, machine string) string {
	var b strings.Builder
	fmt.Fprint(&b, "# Random forests beside scikit-learn, oneDAL, LightGBM, XGBoost and onnxruntime\n\n")
	if len(all) == 0 {
		return b.String() + "No results.\n"
	}
	const minute = "2006-01-02 15:04"
	fmt.Fprintf(&b, "`make bench-forest`, %s to %s UTC; %s; %d threads each. %s.\n\n",
		all[0].When.Format(minute), all[len(all)-1].When.Format(minute), machine, all[0].Threads, versions(all)) // they were appended as they came
	fmt.Fprint(&b, explanation)
	for _, of := range sections(all) {
		section(&b, of)
	}
	return b.String()
}

const explanation = `Three classes, 30 columns (make_classification, 12 informative, 6 redundant, 4 clusters a class, random_state 42), float32; the square root of the columns for each split;
20,000 rows kept back. The libraries take turns, each turn in a process of its own and with a seed of its own. Medians of the turns; in brackets the fastest and the slowest fit. Processor seconds are
user and system of the process during the step. Memory is what the process had resident at most during the step, and in brackets as it began: the program, its
libraries and the rows. Probabilities of all rows kept back at once; of one row the median of up to 20,000 calls, by one thread, and called from Python but for ours. cancha-onnx and
onnxruntime answer by one forest, scikit-learn's, as skl2onnx writes it.

`

// group is the results of one size, depth and number of trees.
type group struct {
	rows         string
	depth, trees int
	of           map[string][]result // by library
}

// sections sorts results by what was to be done, in the order in which that came first.
func sections(all []result) (out []*group) {
	for _, r := range all {
		i := slices.IndexFunc(out, func(s *group) bool { return s.rows == r.Rows && s.depth == r.Depth && s.trees == r.Trees })
		if i < 0 {
			i = len(out)
			out = append(out, &group{r.Rows, r.Depth, r.Trees, map[string][]result{}})
		}
		out[i].of[r.Library] = append(out[i].of[r.Library], r)
	}
	return out
}

// section writes one table.
func section(b *strings.Builder, s *group) {
	fmt.Fprintf(b, "## %s rows, %d trees, %s\n\n", s.rows, s.trees, depthName(s.depth))
	fmt.Fprint(b, "| library | turns | fit, s | of the processor | memory, MB | probabilities, rows/s | of the processor, s | memory, MB | one row, µs | accuracy | log loss |\n")
	fmt.Fprintf(b, "%s|\n", strings.Repeat("| --- ", 11))
	notes := ""
	for _, name := range libraryNames {
		if len(s.of[name]) == 0 {
			continue
		}
		of := summarize(s.of[name])
		fmt.Fprintf(b, "| %s | %s |\n", name, strings.Join(of.cells(), " | "))
		if of.Note != "" {
			notes += fmt.Sprintf("%s: %s.\n", name, of.Note)
		}
		if of.failures > 0 {
			notes += fmt.Sprintf("%s: %d turns failed: %s.\n", name, of.failures, of.Failed)
		}
	}
	fmt.Fprintf(b, "\n%s\n", notes)
}

// cells returns a library's row behind its name.
func (s summary) cells() []string {
	if s.turns == 0 {
		return slices.Repeat([]string{"-"}, 10)
	}
	fit := []string{"-", "-", "-"}
	if s.Fit != nil {
		fit = []string{fmt.Sprintf("%.2f (%.2f to %.2f)", s.Fit.Seconds, s.fastest, s.slowest), fmt.Sprintf("%.2f", s.Fit.CPUSeconds), s.Fit.memory()}
	}
	return slices.Concat([]string{fmt.Sprint(s.turns)}, fit, []string{
		fmt.Sprintf("%.0f", testRows/s.Predict.Seconds), fmt.Sprintf("%.3f", s.Predict.CPUSeconds), s.Predict.memory(),
		fmt.Sprintf("%.1f", 1e6*s.OneRow), fmt.Sprintf("%.4f", s.Accuracy), fmt.Sprintf("%.4f", s.LogLoss),
	})
}

// testRows is how many rows data.py keeps back.
const testRows = 20_000

// memory writes the most memory, and what there was before.
func (s step) memory() string { return fmt.Sprintf("%d (%d)", s.Peak>>20, s.Before>>20) }

// versions lists the libraries.
func versions(all []result) string {
	of := map[string]string{}
	for _, r := range all {
		if r.Failed == "" {
			of[r.Library] = r.Version
		}
	}
	var list []string
	for _, name := range libraryNames {
		if version, ok := of[name]; ok {
			list = append(list, name+" "+version)
		}
	}
	return strings.Join(list, ", ")
}

// machine says where this runs: system, processor, cores, and how busy it has been for a minute, five and fifteen.
func machine() string {
	name, busy := runtime.GOARCH, ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(text); m != nil {
			name = strings.TrimSpace(string(m[1]))
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		busy = ", load average at the end " + strings.Join(strings.Fields(string(text))[:3], "/")
	}
	return fmt.Sprintf("%s/%s, %s, %d cores%s", runtime.GOOS, runtime.GOARCH, name, runtime.NumCPU(), busy)
}
