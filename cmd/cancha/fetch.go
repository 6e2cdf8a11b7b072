//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"cancha/statsbomb/fetch"
)

// fetchFlags are the flags of the commands that fetch matches.
type fetchFlags struct {
	config  fetch.Config
	account bool
}

func (f *fetchFlags) register(flags *flag.FlagSet) {
	flags.BoolVar(&f.account, "account", false, "fetch from StatsBomb's API, with the user and password in STATSBOMB_USER and STATSBOMB_PASSWORD, or SB_USERNAME and SB_PASSWORD")
	flags.StringVar(&f.config.Base, "base", "", "`address` of the server: the folder that holds competitions.json (default "+fetch.OpenData+"), with -account the API (default "+fetch.API+")")
	flags.Func("path", "where the server has a resource, as `RESOURCE=PATH`: competitions, matches (with {c} and {s}), events, lineups, 360-frames (with {m}), such as events=/api/v8/events/{m}; may be repeated", f.config.Paths.Set)
	flags.BoolVar(&f.config.Frames, "360", false, "also fetch the 360 frames, where there are any: 6 to 9 MB a match, 0.5 MB compressed (default with -account)")
}

// complete is called when the flags are read.
func (f *fetchFlags) complete(flags *flag.FlagSet) (err error) {
	if f.config.Competition <= 0 {
		return usageError{flags.Name(), errors.New("name a competition, such as -competition 11 for La Liga")}
	}
	if !f.account {
		return nil
	}
	f.config.Frames = f.config.Frames || !given(flags, "360")
	f.config.Account, err = fetch.AccountFrom(os.Getenv)
	return err
}

// given reports whether a command line sets a flag.
func given(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// fetchMatches fetches, and tells a user of it.
func fetchMatches(ctx context.Context, c fetch.Config) (fetch.Report, error) {
	terms := fetch.Terms
	if c.Account != nil {
		terms = fetch.AccountTerms
	}
	fmt.Println(terms)
	meter := newMeter(os.Stdout, isTerminal(os.Stdout))
	c.Progress = func(p fetch.Progress) {
		meter.show(p.Done, p.Total, fmt.Sprintf("%.1f MB  %s", float64(p.Bytes)/1e6, p.File))
	}
	c.Warn = func(err error) {
		meter.end()
		fmt.Fprintln(os.Stderr, err)
	}
	r, err := fetch.Run(ctx, c)
	meter.end()
	if err != nil {
		return r, resumable(err)
	}
	tellAbsent(os.Stdout, r.Absent)
	fmt.Printf("%s: %s of %s in %s; %s fetched, %s there already, %s not available\n", cmp.Or(r.Competition.Name, "competition"),
		count(r.Matches, "match", "matches"), count(len(r.Seasons), "season", "seasons"), c.Dir,
		count(r.Done-r.Skipped-r.Missing, "file", "files"), count(r.Skipped, "file", "files"), count(r.Missing, "file", "files"))
	return r, nil
}

// tellAbsent names the matches that the server lacks something of: a line for each kind of file and reason.
func tellAbsent(out io.Writer, list []fetch.Absent) {
	matches := make(map[fetch.Absent][]string)
	var kinds []fetch.Absent
	for _, a := range list {
		folder, name, _ := strings.Cut(a.File, "/")
		kind := fetch.Absent{File: folder, Reason: a.Reason}
		if matches[kind] == nil {
			kinds = append(kinds, kind)
		}
		matches[kind] = append(matches[kind], strings.TrimSuffix(name, ".json"))
	}
	for _, kind := range kinds {
		const most = 10
		ids, more := matches[kind], ""
		if len(ids) > most {
			more = fmt.Sprintf(" and %d more", len(ids)-most)
		}
		fmt.Fprintf(out, "no %s of %s, %s: %s%s\n", kind.File, count(len(ids), "match", "matches"), kind.Reason, strings.Join(ids[:min(most, len(ids))], ", "), more)
	}
}

// resumable tells a user who interrupted what to do next.
func resumable(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; run it again to go on", err)
	}
	return err
}
