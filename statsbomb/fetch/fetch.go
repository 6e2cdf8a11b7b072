// Package fetch downloads a part of the public open data into a folder of the same layout. It ends when the files lie there,
// each whole and read once for sanity; what is in them is package statsbomb's.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cancha/statsbomb"
)

// OpenData is the address of StatsBomb's public open data.
const OpenData = "https://raw.githubusercontent.com/statsbomb/open-data/master/data"

// Terms is what everyone who uses the data must know.
const Terms = "Data: StatsBomb Open Data, under the StatsBomb Public Data User Agreement " +
	"(https://github.com/statsbomb/open-data/blob/master/LICENSE.pdf): not for redistribution; published work credits StatsBomb and shows its logo."

// Config says what to fetch.
type Config struct {
	Dir         string        // folder to fill; made if need be
	Base        string        // address of the folder that holds competitions.json; default OpenData
	Competition int           // id, such as 11 for La Liga
	Seasons     int           // the last so many seasons of the competition; 0 takes all
	Frames      bool          // three-sixty files too, 6 to 9 MB a match before compression
	Parallel    int           // downloads at a time; default 4, a small load for a free service
	Tries       int           // of each file; default 5
	Wait        time.Duration // before the second try, doubled for each further one; default 500 ms
	Client      *http.Client  // default: a client that gives up on an answer that stays away for a minute
	Progress    func(Progress)
}

// Progress tells how far a fetch has come. Calls come one at a time.
type Progress struct {
	Done, Total int    // files, those that were there already included
	Skipped     int    // of Done: were there already
	Missing     int    // of Done: the server has no such file, as is normal for some matches
	Bytes       int64  // read from the server, unpacked
	File        string // the latest, such as events/15946.json
}

// Report is what a fetch came to.
type Report struct {
	Progress
	Competition statsbomb.Ref
	Seasons     []statsbomb.Ref // the latest first
	Matches     int
}

func (c Config) withDefaults() Config {
	if c.Base == "" {
		c.Base = OpenData
	}
	c.Base = strings.TrimRight(c.Base, "/")
	if c.Parallel <= 0 {
		c.Parallel = 4
	}
	if c.Tries <= 0 {
		c.Tries = 5
	}
	if c.Wait <= 0 {
		c.Wait = 500 * time.Millisecond
	}
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		c.Client = &http.Client{Transport: transport, Timeout: 10 * time.Minute}
	}
	return c
}

// ErrUnknownCompetition comes when the server's list does not have the competition; the message names those it has.
var ErrUnknownCompetition = errors.New("fetch: no such competition")

// Run fetches. It may be called again after any end, a kill included: files that are there are not fetched again, and no file
// is ever there in part. The lists of competitions and matches are fetched anew each time.
func Run(ctx context.Context, c Config) (Report, error) {
	c = c.withDefaults()
	f := &fetcher{Config: c}
	r, err := f.run(ctx)
	r.Progress = f.state
	if err != nil {
		return r, fmt.Errorf("fetch matches into %s: %w", c.Dir, err)
	}
	return r, nil
}

// fetcher is one Run.
type fetcher struct {
	Config
	mu    sync.Mutex // guards state, and calls of Progress
	state Progress
}

// file is one file to fetch.
type file struct {
	name     string // below Base and Dir, such as events/15946.json
	check    func([]byte) error
	optional bool
	anew     bool // fetched even if it is there
}

func (f *fetcher) run(ctx context.Context) (Report, error) {
	var r Report
	if err := f.sweep(); err != nil {
		return r, err
	}
	var competitions []statsbomb.Competition
	err := f.one(ctx, file{name: "competitions.json", anew: true, check: func(text []byte) (err error) {
		competitions, err = statsbomb.DecodeCompetitions(text)
		return err
	}})
	if err != nil {
		return r, err
	}
	if r.Seasons, err = f.choose(competitions); err != nil {
		return r, err
	}
	for _, k := range competitions {
		if k.Competition.ID == f.Competition {
			r.Competition = k.Competition
		}
	}
	matches, err := f.lists(ctx, r.Seasons)
	r.Matches = len(matches)
	if err != nil {
		return r, err
	}
	return r, f.all(ctx, f.files(matches))
}

// choose returns the seasons wanted.
func (f *fetcher) choose(competitions []statsbomb.Competition) ([]statsbomb.Ref, error) {
	seasons := statsbomb.Seasons(competitions, f.Competition)
	if len(seasons) == 0 {
		return nil, fmt.Errorf("%w: %d; %s has %s", ErrUnknownCompetition, f.Competition, f.Base, names(competitions))
	}
	if f.Config.Seasons > 0 && f.Config.Seasons < len(seasons) {
		seasons = seasons[:f.Config.Seasons]
	}
	return seasons, nil
}

func names(competitions []statsbomb.Competition) string {
	var out []string
	seen := make(map[int]bool)
	for _, c := range competitions {
		if !seen[c.Competition.ID] {
			seen[c.Competition.ID] = true
			out = append(out, fmt.Sprintf("%d %s", c.Competition.ID, c.Competition.Name))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// lists fetches the seasons' lists of matches.
func (f *fetcher) lists(ctx context.Context, seasons []statsbomb.Ref) ([]statsbomb.Match, error) {
	var matches []statsbomb.Match
	for _, s := range seasons {
		name := "matches/" + strconv.Itoa(f.Competition) + "/" + strconv.Itoa(s.ID) + ".json"
		err := f.one(ctx, file{name: name, anew: true, check: func(text []byte) error {
			list, err := statsbomb.DecodeMatches(text)
			matches = append(matches, list...)
			return err
		}})
		if err != nil {
			return matches, err
		}
	}
	return matches, nil
}

// files lists what belongs to matches. Some matches are listed without events or line-ups; that is no error.
func (f *fetcher) files(matches []statsbomb.Match) []file {
	var out []file
	for _, m := range matches {
		name := strconv.FormatInt(m.ID, 10) + ".json"
		out = append(out, file{name: "events/" + name, check: checkEvents, optional: true},
			file{name: "lineups/" + name, check: checkLineups, optional: true})
		if f.Frames && m.Status360 == "available" {
			out = append(out, file{name: "three-sixty/" + name, check: checkFrames, optional: true})
		}
	}
	return out
}

func checkEvents(text []byte) error {
	var d statsbomb.Decoder
	events, err := d.DecodeAll(text)
	if err == nil && len(events) == 0 {
		err = errors.New("no events in it")
	}
	return err
}

func checkLineups(text []byte) error {
	_, err := statsbomb.DecodeLineups(text)
	return err
}

func checkFrames(text []byte) error {
	var d statsbomb.Decoder
	_, err := d.DecodeFrames(text)
	return err
}

// all fetches many files, a few at a time. The first that fails for good stops the rest.
func (f *fetcher) all(ctx context.Context, files []file) error {
	f.mu.Lock()
	f.state.Total = f.state.Done + len(files)
	f.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.Parallel)
	for _, one := range files {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return f.one(ctx, one) })
	}
	return group.Wait()
}

// one fetches a file unless it is there.
func (f *fetcher) one(ctx context.Context, one file) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !one.anew && f.has(one.name) {
		f.count(one.name, func(p *Progress) { p.Skipped++ })
		return nil
	}
	text, err := f.download(ctx, one)
	if one.optional && errors.Is(err, errNotFound) {
		f.count(one.name, func(p *Progress) { p.Missing++ })
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.save(one, text); err != nil {
		return err
	}
	f.count(one.name, func(p *Progress) { p.Bytes += int64(len(text)) })
	return nil
}

func (f *fetcher) count(name string, add func(*Progress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Done++
	f.state.Total = max(f.state.Total, f.state.Done)
	f.state.File = name
	add(&f.state)
	if f.Progress != nil {
		f.Progress(f.state)
	}
}

// has reports whether a file is in the folder, plain or compressed. Files get their names when they are whole.
func (f *fetcher) has(name string) bool {
	path := filepath.Join(f.Dir, filepath.FromSlash(name))
	for _, p := range []string{path, path + ".gz"} {
		if info, err := os.Stat(p); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}
