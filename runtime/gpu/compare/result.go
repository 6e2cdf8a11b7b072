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
	Stored   string `json:"-"`                  // date of the stored result that the column is from; "" where it is this run's
	Missing  string `json:"missing,omitempty"`  // why there is no such column
}

// String names the machine as labels do.
func (m Machine) String() string {
	text := m.Missing
	switch {
	case m.Device == "":
	case m.Driver == "": // the CPU
		text = fmt.Sprintf("%s, %d cores, matrices by %s", m.Device, m.Cores, m.BLAS)
	default:
		text = fmt.Sprintf("%s, %d multiprocessors, matrices by %s, driver %s", m.Device, m.Cores, m.BLAS, m.Driver)
	}
	if m.Stored != "" {
		text += ", measured " + m.Stored
	}
	return text
}

// kind is what headings and legends call a machine that is a GPU, or plays one.
func (m Machine) kind() string {
	if m.Emulated {
		return "CPU emulation"
	}
	return "GPU"
}

// Result is the CPU beside the GPU. It shows as a table.
type Result struct {
	Date string  `json:"date"` // of the run, in UTC
	CPU  Machine `json:"cpu"`
	GPU  Machine `json:"gpu"`
	Rows []Row   `json:"rows"`

	beside Machine // the CPU of the GPU's machine, where the GPU's column is from a stored result
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
	kind := r.GPU.kind()
	elsewhere := r.beside.Device != ""
	g := grid.Grid{
		Header: []string{"", "CPU", kind, kind + ", funcs", "CPU / " + kind, "CPU / funcs"},
		Note:   kind + ": copies included; funcs: without them. CPU: " + r.CPU.String() + ". " + kind + ": " + r.GPU.String() + ".",
	}
	switch {
	case r.GPU.Stored == "":
	case elsewhere:
		g.Header = []string{"", "CPU here", "CPU there", kind + " there", "its funcs", "CPU / " + kind, "CPU / funcs"}
		g.Note += " CPU there: " + r.beside.String() + ". The ratios compare the two there."
	default:
		g.Note += " No ratios: the GPU's times are beside another machine's CPU."
	}
	for _, row := range r.Rows {
		line := []string{row.Work + ", " + row.Size, "", "", "", "", ""}
		if row.CPU != nil {
			line[1] = brief(row.CPU.Whole)
		}
		if row.GPU != nil {
			line[2], line[3] = brief(row.GPU.Whole), brief(row.GPU.Funcs)
		}
		if of := r.cpuOf(row); r.pair(row) {
			line[4], line[5] = ratio(of.Whole, row.GPU.Whole), ratio(of.Whole, row.GPU.Funcs)
		}
		if elsewhere {
			line = slices.Insert(line, 2, "")
			if row.beside != nil {
				line[2] = brief(row.beside.Whole)
			}
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// cpuOf is what the CPU took that the GPU of a row is compared with: that of its own machine; nil where that is not known.
func (r *Result) cpuOf(row Row) *Times {
	if r.GPU.Stored == "" {
		return row.CPU
	}
	return row.beside
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
	kind := r.GPU.kind()
	var names, lacking []string
	var cpu, funcs, whole []float64
	both := slices.ContainsFunc(r.Rows, r.pair)
	for _, row := range r.Rows {
		of := row.CPU
		if both {
			of = r.cpuOf(row)
		}
		if of == nil || both && !r.pair(row) {
			lacking = append(lacking, row.Work+", "+row.Size)
			continue
		}
		names, cpu = append(names, row.Work), append(cpu, inMilliseconds(of.Whole))
		if both {
			funcs, whole = append(funcs, inMilliseconds(row.GPU.Funcs)), append(whole, inMilliseconds(row.GPU.Whole))
		}
	}
	groups, subtitle := []chart.Series{{Name: "CPU", Y: cpu}}, "milliseconds, from data in the machine's memory to the result there"
	if both {
		subtitle += "; and of funcs only"
		groups = append(groups, chart.Series{Name: kind, Y: whole}, chart.Series{Name: kind + ", funcs only", Y: funcs})
	}
	machine := r.CPU
	if both && r.beside.Device != "" {
		machine = r.beside
	}
	caption := "CPU: " + machine.String() + ". " + kind + ": " + r.GPU.String() + "."
	if len(lacking) > 0 {
		caption += " Not measured on both: " + strings.Join(lacking, "; ") + "."
	}
	return chart.Bars(names, groups, chart.Options{Title: r.title(), Subtitle: subtitle, Caption: caption})
}

// pair tells whether a work was measured on a GPU and on the CPU of the same machine.
func (r *Result) pair(row Row) bool { return row.GPU != nil && r.cpuOf(row) != nil }

// title says the finding.
func (r *Result) title() string {
	if r.GPU.Missing != "" || !slices.ContainsFunc(r.Rows, r.pair) {
		return "The CPU alone: there is no GPU to compare with"
	}
	if r.GPU.Emulated {
		return "A CPU emulation of a GPU: its times say nothing"
	}
	where := ""
	if r.GPU.Stored != "" {
		where = "On another machine: "
	}
	most, what := math.Inf(-1), ""
	for _, row := range r.Rows {
		if !r.pair(row) {
			continue
		}
		if times := quotient(r.cpuOf(row).Whole, row.GPU.Whole); times > most {
			most, what = times, row.Work
		}
	}
	if most < 1 {
		return sentence(where + "the CPU is faster at all of it")
	}
	return sentence(fmt.Sprintf("%sthe GPU is up to %s times as fast (%s)", where, threeDigits(most), what))
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Save writes the result as JSON.
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

// Complete fills the GPU's column from the newest result of a real GPU that is stored in a folder, if this run had none; the column then
// says of when it is, and its ratios are to the CPU of that machine. A result of other sizes fills nothing, and the reason says so. A folder that is not there has no results.
func (r *Result) Complete(folder string) error {
	if r.GPU.Missing == "" {
		return nil
	}
	stored, err := newest(folder)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if stored == nil {
		r.GPU.Missing += "; and no result of a real GPU is stored"
		return nil
	}
	filled := false
	for i, row := range r.Rows {
		at := slices.IndexFunc(stored.Rows, func(s Row) bool { return s.GPU != nil && s.Work == row.Work && s.Size == row.Size })
		if at >= 0 {
			r.Rows[i].GPU, r.Rows[i].beside, filled = stored.Rows[at].GPU, stored.Rows[at].CPU, true
		}
	}
	if !filled {
		r.GPU.Missing += fmt.Sprintf("; and the stored result of %s, %s, is of other sizes", stored.GPU.Device, stored.Date)
		return nil
	}
	r.GPU, r.GPU.Stored, r.beside = stored.GPU, stored.Date, stored.CPU
	return nil
}

// newest reads the newest result of a real GPU; nil where there is none.
func newest(folder string) (found *Result, err error) {
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
		if r.GPU.Missing == "" && !r.GPU.Emulated && (found == nil || r.Date > found.Date) {
			found = r
		}
	}
	return found, nil
}
