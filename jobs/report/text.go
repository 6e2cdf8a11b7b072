package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// none stands where there is no number.
const none = "–"

// seconds writes a time for people.
func seconds(s float64) string {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return none
	}
	return placement.Seconds(s)
}

// factor writes a number such as a speed-up, in three digits.
func factor(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// typed names a type, of which there is none where a submission could not be read.
func typed(name string) string {
	if name == "" {
		return "(unreadable)"
	}
	return name
}

// device names a device.
func device(d placement.Device) string {
	if d == "" {
		return none
	}
	return strings.ToUpper(string(d))
}

// sheet is a table of texts.
type sheet struct {
	head []string
	rows [][]string
}

// statisticsSheet is for people.
func statisticsSheet(all []Statistics) sheet {
	s := sheet{head: []string{"job type", "worker", "jobs", "completed", "mean", "min", "max", "p95", "jobs/s", "predictions off by", "bias"}}
	for _, r := range all {
		s.rows = append(s.rows, []string{typed(r.Type), device(r.Device), strconv.Itoa(r.Jobs), strconv.Itoa(r.Completed), seconds(r.Mean),
			seconds(r.Min), seconds(r.Max),
			seconds(r.P95), factor(r.Throughput), factor(r.Off), factor(r.Bias)})
	}
	return s
}

func comparisonSheet(all []Comparison) sheet {
	s := sheet{head: []string{"job type", "CPU mean", "GPU mean", "speed-up", "at the same work", "pieces of work"}}
	for _, c := range all {
		s.rows = append(s.rows, []string{typed(c.Type), seconds(c.CPU), seconds(c.GPU), factor(c.SpeedUp), factor(c.SameWork), strconv.Itoa(c.Works)})
	}
	return s
}

// plain lines the columns up, for a terminal.
func (s sheet) plain(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{s.head}, s.rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// markdown writes a table of Markdown; the columns behind the first are numbers.
func (s sheet) markdown(w *strings.Builder) {
	rule := slices.Repeat([]string{"---:"}, len(s.head))
	rule[0] = "---"
	for _, row := range append([][]string{s.head, rule}, s.rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = escape(cell)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// escape keeps a text of others from being Markdown, or HTML.
func escape(text string) string {
	return strings.NewReplacer("\\", `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`,
		"\n", " ", "\r", " ").Replace(text)
}

// statisticsCSV and comparisonsCSV are for programs: seconds with nine digits, and an empty field where there is no number.
func statisticsCSV(all []Statistics) sheet {
	s := sheet{head: []string{"job_type", "worker_type", "jobs", "completed", "mean_s", "min_s", "max_s", "p95_s", "jobs_per_s",
		"predicted_jobs", "prediction_off_factor", "prediction_bias_factor"}}
	for _, r := range all {
		s.rows = append(s.rows, []string{r.Type, string(r.Device), strconv.Itoa(r.Jobs), strconv.Itoa(r.Completed), digits(r.Mean),
			digits(r.Min), digits(r.Max), digits(r.P95),
			digits(r.Throughput), strconv.Itoa(r.Predicted), digits(r.Off), digits(r.Bias)})
	}
	return s
}

func comparisonsCSV(all []Comparison) sheet {
	s := sheet{head: []string{"job_type", "cpu_mean_s", "gpu_mean_s", "speed_up", "speed_up_same_work", "works"}}
	for _, c := range all {
		s.rows = append(s.rows, []string{c.Type, digits(c.CPU), digits(c.GPU), digits(c.SpeedUp), digits(c.SameWork), strconv.Itoa(c.Works)})
	}
	return s
}

func digits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}

func (s sheet) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.WriteAll(append([][]string{s.head}, s.rows...)); err != nil {
		return fmt.Errorf("jobs/report: write CSV: %w", err)
	}
	return nil
}

// Print writes what was measured as text for a terminal.
func (m *Measures) Print(w io.Writer) error {
	if m.Jobs() == 0 {
		_, err := fmt.Fprintln(w, "no job has ended yet")
		return err
	}
	if err := statisticsSheet(m.Statistics()).plain(w); err != nil {
		return err
	}
	if both := m.Comparisons(); len(both) > 0 {
		fmt.Fprintln(w)
		if err := comparisonSheet(both).plain(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s; together %s jobs/s\n", m.outcomes(), factor(m.Throughput()))
	return err
}

// outcomes counts how jobs have ended.
func (m *Measures) outcomes() string {
	all := map[job.State]int{}
	for _, k := range m.kinds {
		for state, n := range k.ended {
			all[state] += n
		}
	}
	var words []string
	for _, state := range job.States() {
		if all[state] > 0 {
			words = append(words, fmt.Sprintf("%d %s", all[state], state))
		}
	}
	return strings.Join(words, ", ")
}
