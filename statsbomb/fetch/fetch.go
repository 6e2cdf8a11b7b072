// Package fetch downloads a part of StatsBomb's public open data, or of what an account has in its API, into a folder in the
// open data's layout. It ends when the files lie there, each as it was sent, whole and read once for sanity; what is in them
// is package statsbomb's.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cancha/internal/callback"
	"cancha/statsbomb"
)

// OpenData is the address of StatsBomb's public open data.
const OpenData = "https://raw.githubusercontent.com/statsbomb/open-data/master/data"

// Terms is what everyone who uses the data must know.
const Terms = "Data: StatsBomb Open Data, under the StatsBomb Public Data User Agreement " +
	"(https://github.com/statsbomb/open-data/blob/master/LICENSE.pdf): not for redistribution; published work credits StatsBomb and shows its logo."

// Config says what to fetch.
type Config struct {
	Dir         string        // folder to fill; made if need be. One that holds matches of another source is refused
	Account     *Account      // whose data to fetch from the API; nil: the open data
	Base        string        // address of the folder that holds competitions.json; default OpenData, with an Account API
	Paths       Paths         // below Base
	Competition int           // id, such as 11 for La Liga
	Seasons     int           // the last so many seasons of the competition that have matches; 0 takes all
	SeasonIDs   []int         // these seasons instead
	Frames      bool          // three-sixty files too, 6 to 9 MB a match before compression
	Parallel    int           // downloads at a time; default 4, a small load for a service
	Tries       int           // of each file; default 5
	Wait        time.Duration // before the second try, doubled for each further one; default 500 ms
	Client      *http.Client  // default: a client that gives up on an answer that stays away for a minute
	Progress    func(Progress)
	Warn        func(error) // is told of waits, and of seasons and matches that are left out; nil is silent
}

// Progress tells how far a fetch has come. Calls, those of Warn included, come one at a time.
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
	Absent      []Absent // the missing files, in order of their names
}

// Absent is a file that the server does not give out.
type Absent struct {
	File   string // such as three-sixty/15946.json
	Reason string // such as "not found (404)"
}

// source is what statsbomb.SourceOf tells of the folder that is filled.
func (c Config) source() string {
	if c.Account != nil {
		return statsbomb.SourceAPI
	}
	return statsbomb.SourceOpenData
}

// complete fills the gaps and checks the rest.
func (c *Config) complete() error {
	base, paths := OpenData, openPaths()
	if c.Account != nil {
		base, paths = API, apiPaths()
		if c.Account.sign == nil {
			return ErrNoAccount
		}
	}
	c.Base = strings.TrimRight(cmp.Or(c.Base, base), "/")
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
	return c.Paths.fill(paths)
}

// ErrUnknownCompetition comes when the server's list does not have the competition; the message names those it has.
var ErrUnknownCompetition = errors.New("fetch: no such competition")

// ErrNoMatches comes when none of the seasons has a match that is there to fetch.
var ErrNoMatches = errors.New("fetch: no match is available")

// Run fetches. It may be called again after any end, a kill included: files that are there are not fetched again, and no file
// is ever there in part. The lists of competitions and matches are fetched anew each time.
func Run(ctx context.Context, c Config) (Report, error) {
	r, err := run(ctx, c)
	if err != nil {
		return r, fmt.Errorf("fetch matches into %s: %w", c.Dir, err)
	}
	return r, nil
}

func run(ctx context.Context, c Config) (Report, error) {
	if err := c.complete(); err != nil {
		return Report{}, err
	}
	base, err := parseBase(c.Base, c.Account != nil)
	if err != nil {
		return Report{}, err
	}
	if c.Account != nil {
		c.Client = c.Account.signed(c.Client, base)
	}
	f := &fetcher{Config: c, base: base}
	r, err := f.run(ctx)
	r.Progress, r.Absent = f.state, f.absent
	slices.SortFunc(r.Absent, func(a, b Absent) int { return strings.Compare(a.File, b.File) })
	return r, err
}

// fetcher is one Run.
type fetcher struct {
	Config
	base   *url.URL   // Base, read
	mu     sync.Mutex // guards the rest, and calls of Progress and Warn
	state  Progress
	absent []Absent
	quiet  time.Time // until then the server is not asked
}

// file is one file to fetch.
type file struct {
	name     string // below Dir, such as events/15946.json
	path     string // below Base
	check    func([]byte) error
	optional bool
	anew     bool // fetched even if it is there
}

func (f *fetcher) run(ctx context.Context) (Report, error) {
	var r Report
	if err := f.sweep(); err != nil {
		return r, err
	}
	competitions, err := f.competitions(ctx)
	if err != nil {
		return r, err
	}
	seasons, err := f.choose(competitions)
	if err != nil {
		return r, err
	}
	for _, k := range competitions {
		if k.Competition.ID == f.Competition {
			r.Competition = k.Competition
		}
	}
	var matches []statsbomb.Match
	r.Seasons, matches, err = f.lists(ctx, seasons)
	r.Matches = len(matches)
	if err != nil {
		return r, err
	}
	return r, f.all(ctx, f.files(matches))
}

// files lists what belongs to matches. Some matches are listed without events or line-ups; that is no error.
func (f *fetcher) files(matches []statsbomb.Match) []file {
	var out []file
	for _, m := range matches {
		add := func(folder, path string, check func([]byte) error) {
			out = append(out, file{name: folder + "/" + strconv.FormatInt(m.ID, 10) + ".json", path: ofMatch(path, m.ID), check: check, optional: true})
		}
		add("events", f.Paths.Events, checkEvents)
		add("lineups", f.Paths.Lineups, checkLineups)
		if f.Frames && m.Status360 == available {
			add("three-sixty", f.Paths.Frames, checkFrames)
		}
	}
	return out
}

func checkEvents(text []byte) error {
	var d statsbomb.Decoder
	events, err := d.DecodeAll(text)
	return some(len(events), err)
}

func checkLineups(text []byte) error {
	lineups, err := statsbomb.DecodeLineups(text)
	return some(len(lineups), err)
}

func checkFrames(text []byte) error {
	var d statsbomb.Decoder
	frames, err := d.DecodeFrames(text)
	return some(len(frames), err)
}

// some is errEmpty where there is nothing.
func some(n int, err error) error {
	if err == nil && n == 0 {
		return errEmpty
	}
	return err
}

// all fetches many files, a few at a time. The first that fails for good stops the rest.
func (f *fetcher) all(ctx context.Context, files []file) error {
	f.mu.Lock()
	f.state.Total = f.state.Done + len(files)
	f.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.Parallel)
	calling := callback.Within(ctx)
	for _, one := range files {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return callback.Do(calling, func() error { return f.one(ctx, one) }) }) // it calls Progress and Warn
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
	if one.optional && isAbsent(err) {
		f.count(one.name, func(p *Progress) {
			p.Missing++
			f.absent = append(f.absent, Absent{one.name, err.Error()})
		})
		return nil
	}
	if err != nil {
		return err
	}
	return f.keep(one, text)
}

// isAbsent tells of an answer that it is none of this file, and was no fault.
func isAbsent(err error) bool {
	return errors.Is(err, errNotFound) || errors.Is(err, errForbidden) || errors.Is(err, errEmpty)
}

// keep saves a file and counts it.
func (f *fetcher) keep(one file, text []byte) error {
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

func (f *fetcher) warn(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Warn != nil {
		f.Warn(err)
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
