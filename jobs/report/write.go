package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cancha/jobs/placement"
)

// ErrEmpty tells that there is no result to report of.
var ErrEmpty = errors.New("there is no result of a job")

// Write writes report.md, report.json, statistics.csv, comparison.csv and figures as PNG into a folder, which is made where it is not
// there; files of these names are written anew, and figures for which there is nothing to show are removed. source is what the results are
// of, as the name of a file. The error is ErrEmpty where there are none.
func Write(folder string, all []Record, source string) error {
	if len(all) == 0 {
		return fmt.Errorf("jobs/report: %s: %w; cancha monitor -o writes them", source, ErrEmpty)
	}
	m := &Measures{}
	for i := range all {
		m.Add(&all[i])
	}
	drawn, err := figures(all, m, filepath.Base(source))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("jobs/report: %w", err)
	}
	for _, name := range []string{"times.png", "speedup.png", "throughput.png", "predictions.png"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("jobs/report: %w", err)
		}
	}
	for _, f := range drawn {
		if err := f.chart.Save(filepath.Join(folder, f.file)); err != nil {
			return fmt.Errorf("jobs/report: %w", err)
		}
	}
	return writeTexts(folder, m, markdown(all, m, drawn, source))
}

func writeTexts(folder string, m *Measures, text string) error {
	var statistics, comparison strings.Builder
	err := errors.Join(statisticsCSV(m.Statistics()).csv(&statistics), comparisonsCSV(m.Comparisons()).csv(&comparison))
	whole, failed := summaryJSON(m)
	err = errors.Join(err, failed)
	for name, text := range map[string]string{"report.md": text, "report.json": string(whole) + "\n", "statistics.csv": statistics.String(),
		"comparison.csv": comparison.String()} {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("jobs/report: %w", err)
	}
	return nil
}

// markdown is the report as text, with the figures in it.
func markdown(all []Record, m *Measures, drawn []figure, source string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Jobs\n\n%s: %s\n\n", escape(filepath.Base(source)), period(all, m))
	b.WriteString("## GPU and CPU\n\n")
	if both := m.Comparisons(); len(both) > 0 {
		comparisonSheet(both).markdown(&b)
		b.WriteString("\nThe speed-up is the CPU's mean divided by the GPU's. Large jobs go to the GPU and small ones to the CPU, so that compares different work; at the same work it is " +
			"the geometric mean over those pieces of work that both have run.\n\n")
	} else {
		fmt.Fprintf(&b, "No job type has completed on a GPU and on a CPU: %s.\n\n", devices(m))
	}
	b.WriteString("## By job type and worker\n\n")
	statisticsSheet(m.Statistics()).markdown(&b)
	b.WriteString("\nTimes are those that completed jobs ran. p95 is the 95th percentile, with linear interpolation between neighbours (type 7 of Hyndman and Fan, NumPy's). Jobs/s are " +
		"completed ones from the first begin to the last end. Predictions are off by exp(mean |ln(measured / predicted)|): 1 is perfect, 2 twice or half; a bias above 1 says that jobs " +
		"take longer than predicted.\n")
	for _, f := range drawn {
		fmt.Fprintf(&b, "\n## %s\n\n![%s](%s)\n", f.title, escape(strings.ReplaceAll(strings.ReplaceAll(f.chart.String(), ".\n", "\n"), "\n", ". ")), f.file)
	}
	return b.String()
}

// period says how many jobs there are, and of when.
func period(all []Record, m *Measures) string {
	first, last := all[0].Completed, all[0].Completed
	for i := range all {
		first, last = min(first, all[i].Completed), max(last, all[i].Completed)
	}
	jobs := "1 job"
	if len(all) > 1 {
		jobs = fmt.Sprintf("%d jobs", len(all))
	}
	text := fmt.Sprintf("%s (%s) that ended from %s to %s UTC", jobs, m.outcomes(), moment(first).Format(time.DateTime), moment(last).Format(time.DateTime))
	if rate := factor(m.Throughput()); rate != none {
		text += fmt.Sprintf(", %s completed a second", rate)
	}
	return text + "."
}

// devices says where jobs ran, if not on both devices.
func devices(m *Measures) string {
	var on []string
	for _, d := range placement.Devices() {
		for name, k := range m.kinds {
			if name.Device == d && len(k.ran) > 0 {
				on = append(on, device(d))
				break
			}
		}
	}
	switch len(on) {
	case 0:
		return "none has completed"
	case 1:
		return "all ran on a " + on[0]
	}
	return "the types on a GPU are others than those on a CPU"
}
