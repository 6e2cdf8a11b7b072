package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/runtime/chart"
	"cancha/runtime/gpu"
	"cancha/runtime/grid"
)

// Machine is what a column was measured on.
type Machine struct {
	Device   string `json:"device,omitempty"`
	Cores    int    `json:"cores,omitempty"` // of the CPU: goroutines that worked at once; of a GPU its multiprocessors
	BLAS     string `json:"blas,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Emulated bool   `json:"emulated,omitempty"` // the GPU is one that the CPU plays: its times say nothing of GPUs
	Missing  string `json:"missing,omitempty"`  // why there is no such column
}

// String names the machine as labels do.
func (m Machine) String() string {
	switch {
	case m.Device == "":
		return m.Missing
	case m.Driver == "": // the CPU
		return fmt.Sprintf("%s, %d cores, matrices by %s", m.Device, m.Cores, m.BLAS)
	default:
		return fmt.Sprintf("%s, %d multiprocessors, matrices by %s, driver %s", m.Device, m.Cores, m.BLAS, m.Driver)
	}
}

// kind is what headings and legends call a machine that is a GPU, or plays one.
func (m Machine) kind() string {
	if m.Emulated {
		return "CPU emulation"
	}
	return "GPU"
}

// Result is the CPU beside the GPU of one machine. It shows as a table, and so does what its JSON is read into.
type Result struct {
	Date string  `json:"date"` // of the run, in UTC
	CPU  Machine `json:"cpu"`
	GPU  Machine `json:"gpu"`
	Rows []Row   `json:"rows"` // no row has times of two machines

	// Stored is what another run has measured of these works on a real GPU and on the CPU beside it; see Complete. It stands apart in JSON as
	// well, so that nobody divides the CPU of one machine by the GPU of another.
	Stored *Result `json:"stored,omitempty"`
}

// describe takes down what a session worked on.
func (r *Result) describe(s *gpu.Session, target gpu.Target) {
	cpu, device := s.Devices()
	i, m := cpu, &r.CPU
	if target == gpu.GPU {
		i, m = *device, &r.GPU
	}
	*m = Machine{Device: i.Label(), Cores: i.Cores, BLAS: i.BLAS, Driver: i.Driver, Emulated: i.Emulated}
}

// MIMEBundle shows the table.
func (r *Result) MIMEBundle() map[string]any { return r.grid().MIMEBundle() }

// String is the table as text.
func (r *Result) String() string { return r.grid().Text() }

func (r *Result) grid() grid.Grid {
	with := r.withGPU()
	device, kind := with.device(), with.GPU.kind()
	g := grid.Grid{
		Header: []string{"", "CPU", kind, kind + ", funcs", "CPU / " + kind, "CPU / funcs"},
		Note:   kind + ": copies included; funcs: without them. CPU: " + r.CPU.String() + ". " + kind + ": " + device + ".",
	}
	elsewhere := with != r && with.CPU.Device != ""
	switch {
	case elsewhere:
		g.Header = []string{"", "CPU here", "CPU there", kind + " there", "its funcs", "CPU / " + kind, "CPU / funcs"}
		g.Note += " CPU there: " + with.CPU.String() + ". The ratios compare the two there."
	case with != r:
		g.Note += " No ratios: the GPU's times are beside another machine's CPU."
	}
	for _, row := range r.Rows {
		of := r.in(with, row)
		line := append([]string{row.Work + ", " + row.Size, wholeOf(row.CPU)}, of.cells()...)
		if elsewhere {
			line = slices.Insert(line, 2, wholeOf(of.CPU))
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// withGPU is the result whose GPU is shown: the stored one, where there is one.
func (r *Result) withGPU() *Result {
	if r.Stored != nil {
		return r.Stored
	}
	return r
}

// device names the GPU that is shown, and says of when a stored one is.
func (r *Result) device() string {
	if with := r.withGPU(); with != r {
		return with.GPU.String() + ", measured " + with.Date
	}
	return r.GPU.String()
}

// in is what another result has of the work of a row of r: no times where it lacks that.
func (r *Result) in(other *Result, row Row) Row {
	if other == r {
		return row
	}
	if i := slices.IndexFunc(other.Rows, row.same); i >= 0 {
		return other.Rows[i]
	}
	return Row{Work: row.Work, Size: row.Size}
}

// same tells whether two rows are of one work.
func (row Row) same(other Row) bool { return row.Work == other.Work && row.Size == other.Size }

// pair tells whether a work was measured on both.
func (row Row) pair() bool { return row.CPU != nil && row.GPU != nil }

// cells are what a table says of the GPU: its times, and what the CPU beside it took, divided by them.
func (row Row) cells() []string {
	cells := []string{wholeOf(row.GPU), "", "", ""}
	if row.GPU != nil {
		cells[1] = brief(row.GPU.Funcs)
	}
	if row.pair() {
		cells[2], cells[3] = ratio(row.CPU.Whole, row.GPU.Whole), ratio(row.CPU.Whole, row.GPU.Funcs)
	}
	return cells
}

// wholeOf is the cell of what a work took; "" where that was not measured.
func wholeOf(t *Times) string {
	if t == nil {
		return ""
	}
	return brief(t.Whole)
}

// brief is a time with three digits, in milliseconds or, from 1 s on, in seconds.
func brief(d time.Duration) string {
	if d >= time.Second {
		return threeDigits(d.Seconds()) + " s"
	}
	return threeDigits(inMilliseconds(d)) + " ms"
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) string { return threeDigits(quotient(a, b)) + "×" }

func quotient(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// threeDigits writes a number rounded to three digits and without an exponent, which %.3g has from 1,000 on.
func threeDigits(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil { // unreachable: FormatFloat's own
		rounded = x
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Bars draws what each work took: on the CPU, and on the GPU with its copies and without. A GPU of another machine stands beside the CPU of
// that machine, and the CPU of this one is left out; where that machine's CPU was not measured, the GPU is left out. Where some works were
// measured on both, the caption names those that were not.
func (r *Result) Bars() (*chart.Chart, error) {
	kind := r.withGPU().GPU.kind()
	var names, lacking []string
	var cpu, funcs, whole []float64
	from, both := r.bothOn()
	for _, row := range r.Rows {
		of := r.in(from, row)
		if of.CPU == nil || both && of.GPU == nil {
			lacking = append(lacking, row.Work+", "+row.Size)
			continue
		}
		names, cpu = append(names, row.Work), append(cpu, inMilliseconds(of.CPU.Whole))
		if both {
			funcs, whole = append(funcs, inMilliseconds(of.GPU.Funcs)), append(whole, inMilliseconds(of.GPU.Whole))
		}
	}
	groups, subtitle := []chart.Series{{Name: "CPU", Y: cpu}}, "milliseconds, from data in the machine's memory to the result there"
	if both {
		subtitle += "; and of funcs only"
		groups = append(groups, chart.Series{Name: kind, Y: whole}, chart.Series{Name: kind + ", funcs only", Y: funcs})
	}
	caption := "CPU: " + from.CPU.String() + ". " + kind + ": " + r.device() + "."
	if len(lacking) > 0 {
		caption += " Not measured on both: " + strings.Join(lacking, "; ") + "."
	}
	return chart.Bars(names, groups, chart.Options{Title: r.title(), Subtitle: subtitle, Caption: caption})
}

// bothOn is the result whose CPU is drawn, and whether its GPU is too: where it has measured a work on both.
func (r *Result) bothOn() (from *Result, both bool) {
	if with := r.withGPU(); slices.ContainsFunc(with.Rows, Row.pair) {
		return with, true
	}
	return r, false
}

// title says the finding.
func (r *Result) title() string {
	from, both := r.bothOn()
	if !both {
		return "The CPU alone: there is no GPU to compare with"
	}
	if from.GPU.Emulated {
		return "A CPU emulation of a GPU: its times say nothing"
	}
	where := ""
	if from != r {
		where = "On another machine: "
	}
	most, what := math.Inf(-1), ""
	for _, row := range from.Rows {
		if !row.pair() {
			continue
		}
		if times := quotient(row.CPU.Whole, row.GPU.Whole); times > most {
			most, what = times, row.Work
		}
	}
	if most < 1 {
		return sentence(where + "the CPU is faster at all of it")
	}
	return sentence(fmt.Sprintf("%sthe GPU is up to %s times as fast (%s)", where, threeDigits(most), what))
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Save writes the result as JSON. A GPU of another machine is in its field stored, with its date and the CPU beside it.
func (r *Result) Save(path string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(raw, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("compare: save: %w", err)
	}
	return nil
}

// Complete adds the newest result of a real GPU that is stored in a folder, if this run had none: Stored is what that result has of the same
// works, of the same sizes. A result of other sizes adds nothing, and the reason in GPU.Missing says so. A folder that is not there has no
// results. A result that shows a stored GPU itself is none of that GPU.
func (r *Result) Complete(folder string) error {
	if r.GPU.Missing == "" {
		return nil
	}
	found, err := newest(folder)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if found == nil {
		r.lack("no result of a real GPU is stored")
		return nil
	}
	stored := &Result{Date: found.Date, CPU: found.CPU, GPU: found.GPU}
	for _, row := range r.Rows {
		if of := r.in(found, row); of.GPU != nil {
			stored.Rows = append(stored.Rows, of)
		}
	}
	if len(stored.Rows) == 0 {
		r.lack(fmt.Sprintf("the stored result of %s, %s, is of other sizes", found.GPU.Device, found.Date))
		return nil
	}
	r.Stored = stored
	return nil
}

// lack says why there is no stored GPU, unless there is one of an earlier Complete.
func (r *Result) lack(why string) {
	if r.Stored == nil {
		r.GPU.Missing += "; and " + why
	}
}

// newest finds the newest result of a real GPU; nil where there is none.
func newest(folder string) (*Result, error) {
	all, err := read(folder)
	if err != nil {
		return nil, err
	}
	for i, r := range slices.Backward(all) {
		if !slices.ContainsFunc(all[:i], r.copies) {
			return r, nil
		}
	}
	return nil, nil
}

// read reads the results of real GPUs in a folder, the oldest first. One that shows a stored GPU has none of its own.
func read(folder string) (all []*Result, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "gpu-*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &Result{}
		if err := json.Unmarshal(raw, r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if r.GPU.Missing == "" && !r.GPU.Emulated {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Result) int { return strings.Compare(a.Date, b.Date) })
	return all, nil
}

// copies tells whether the times of r's GPU are those of an older result, to the nanosecond. Save once wrote a stored GPU as the run's own,
// under the run's date and beside its CPU, and such files are still about.
func (r *Result) copies(older *Result) bool {
	of := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.GPU == nil })
	return older.Date < r.Date && len(of) > 0 && !slices.ContainsFunc(of, func(row Row) bool {
		other := r.in(older, row)
		return other.GPU == nil || *other.GPU != *row.GPU
	})
}
