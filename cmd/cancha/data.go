//go:build !windows

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/fetch"
	"cancha/statsbomb/simulate"
)

const dataUsage = `usage: cancha data fetch -competition ID [-seasons N] [-dir DIR] [-base URL] [-360]
       cancha data fetch -account -competition ID [-seasons N] [-dir DIR] [-base URL] [-path RESOURCE=PATH] [-360=false]
       cancha data simulate [-matches N] [-seed S] [-frames] -dir DIR
       cancha data list [-dir DIR]

fetch     downloads matches of StatsBomb's open data, or with an account of its API; run again, it goes on where it stopped
simulate  writes simulated matches in the same layout
list      tells what a folder holds

"cancha data fetch -h" tells what fetch takes, and so on.
`

// runData is the command "data": match folders, got and looked at.
func runData(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usageError{"data", errors.New("want fetch, simulate or list")}
	}
	switch args[0] {
	case "fetch":
		return dataFetch(ctx, args[1:])
	case "simulate":
		return dataSimulate(ctx, args[1:])
	case "list":
		return dataList(os.Stdout, args[1:])
	case "-h", "-help", "--help", "help":
		fmt.Print(dataUsage)
		return flag.ErrHelp
	}
	return usageError{"data", fmt.Errorf("want fetch, simulate or list, not %q", args[0])}
}

func dataFetch(ctx context.Context, args []string) error {
	var f fetchFlags
	flags := newFlags("data fetch", " -competition ID", "Downloads matches of StatsBomb's open data, or with an account of its API; run again, it goes on where it stopped.")
	flags.IntVar(&f.config.Competition, "competition", 0, "`id` of the competition, such as 11 for La Liga")
	flags.IntVar(&f.config.Seasons, "seasons", 4, "the last `N` seasons of the competition that have matches; 0 for all")
	flags.StringVar(&f.config.Dir, "dir", "data", "`folder` to fill")
	f.register(flags)
	if err := parseAll(flags, args); err != nil {
		return err
	}
	if f.config.Seasons < 0 {
		return usageError{"data fetch", fmt.Errorf("-seasons %d: want 0 for all, or how many of the last", f.config.Seasons)}
	}
	if err := f.complete(flags); err != nil {
		return err
	}
	_, err := fetchMatches(ctx, f.config)
	return err
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

func dataSimulate(ctx context.Context, args []string) error {
	var c simulate.Config
	flags := newFlags("data simulate", " -dir DIR", "Writes simulated matches in the layout of the open data. The same seed gives the same files.")
	flags.IntVar(&c.Matches, "matches", 380, "how `many`; 380 are a season of twenty clubs")
	flags.Uint64Var(&c.Seed, "seed", 1, "the same seed gives the same matches")
	flags.IntVar(&c.Teams, "teams", 20, "clubs of the league, an even `number`")
	flags.BoolVar(&c.Frames, "frames", false, "with 360 frames (0.4 MB a match)")
	dir := flags.String("dir", "", "new `folder` to write")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	if *dir == "" {
		return usageError{"data simulate", errors.New("name a new folder with -dir")}
	}
	if c.Matches <= 0 {
		return usageError{"data simulate", fmt.Errorf("-matches %d: want at least 1", c.Matches)}
	}
	if err := c.Validate(); err != nil {
		return usageError{"data simulate", err}
	}
	meter := newMeter(os.Stdout, isTerminal(os.Stdout))
	err := statsbomb.WriteFolder(ctx, *dir, simulate.New(c), func(done, total int) { meter.show(done, total, "matches") })
	meter.end()
	if err != nil {
		return resumable(err)
	}
	fmt.Printf("%s in %s\n", count(c.Matches, "simulated match", "simulated matches"), *dir)
	return nil
}

func dataList(out io.Writer, args []string) error {
	flags := newFlags("data list", "", "Tells which matches a folder holds.")
	dir := flags.String("dir", "data", "`folder` to look at")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	folder, err := statsbomb.OpenFolder(*dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "competition\t\tseason\t\tmatches\twith events\twith 360\tfirst\tlast")
	var all holding
	for _, c := range folder.Competitions() {
		matches := folder.Select(statsbomb.Filter{Competition: c.Competition.ID, Seasons: []int{c.Season.ID}})
		if len(matches) == 0 {
			continue // competitions.json lists what the open data have, not what was fetched
		}
		h := hold(*dir, matches)
		all.matches, all.events, all.frames = all.matches+h.matches, all.events+h.events, all.frames+h.frames
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s\n", c.Competition.ID, c.Competition.Name, c.Season.ID, c.Season.Name,
			h.matches, h.events, h.frames, matches[0].Date, matches[len(matches)-1].Date)
	}
	fmt.Fprintf(w, "\tall\t\t\t%d\t%d\t%d\n", all.matches, all.events, all.frames)
	if err := w.Flush(); err != nil {
		return err
	}
	note := fetch.Terms
	switch folder.Source() {
	case statsbomb.SourceSimulator:
		note = "Simulated matches."
	case statsbomb.SourceAPI:
		note = fetch.AccountTerms
	}
	_, err = fmt.Fprintln(out, note)
	return err
}

// holding counts the files of matches.
type holding struct{ matches, events, frames int }

func hold(dir string, matches []statsbomb.Match) holding {
	h := holding{matches: len(matches)}
	there := func(kind string, id int64) bool {
		path := filepath.Join(dir, kind, fmt.Sprint(id)+".json")
		_, plain := os.Stat(path)
		_, packed := os.Stat(path + ".gz")
		return plain == nil || packed == nil
	}
	for _, m := range matches {
		if there("events", m.ID) {
			h.events++
		}
		if there("three-sixty", m.ID) {
			h.frames++
		}
	}
	return h
}

// meter shows progress: one line that changes on a terminal, a line every five seconds elsewhere.
type meter struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	open     bool // the terminal's line has no end yet
}

func newMeter(out io.Writer, terminal bool) *meter {
	return &meter{out: out, terminal: terminal, shown: time.Now()}
}

func (m *meter) show(done, total int, what string) {
	every := 5 * time.Second
	if m.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(m.shown) < every && done < total {
		return
	}
	m.shown = time.Now()
	line := fmt.Sprintf("%d of %d (%d %%)  %s", done, total, 100*done/max(1, total), what)
	if !m.terminal {
		fmt.Fprintln(m.out, line)
		return
	}
	fmt.Fprintf(m.out, "\r\x1b[K%.78s", line)
	m.open = true
}

func (m *meter) end() {
	if m.open {
		fmt.Fprintln(m.out)
		m.open = false
	}
}

// isTerminal reports whether a file is one that a user looks at.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
