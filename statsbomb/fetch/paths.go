package fetch

import (
	"fmt"
	"strconv"
	"strings"
)

// Paths says where a server has what, below the base address. In a path {c} stands for the competition's id, {s} for the
// season's and {m} for the match's. An empty path is the usual one of the open data, or with an account of the API.
type Paths struct{ Competitions, Matches, Events, Lineups, Frames string }

// openPaths are the files of the open data.
func openPaths() Paths {
	return Paths{"/competitions.json", "/matches/{c}/{s}.json", "/events/{m}.json", "/lineups/{m}.json", "/three-sixty/{m}.json"}
}

// apiPaths are the versions that StatsBomb's own client, statsbombpy, asks for.
func apiPaths() Paths {
	return Paths{"/api/v4/competitions", "/api/v6/competitions/{c}/seasons/{s}/matches", "/api/v9/events/{m}", "/api/v5/lineups/{m}",
		"/api/v2/360-frames/{m}"}
}

// resource is what a server has by itself, with its field of a Paths.
type resource struct {
	name  string
	path  *string
	needs []string // what a path must name
}

func (p *Paths) resources() []resource {
	return []resource{
		{"competitions", &p.Competitions, nil},
		{"matches", &p.Matches, []string{"{c}", "{s}"}},
		{"events", &p.Events, []string{"{m}"}},
		{"lineups", &p.Lineups, []string{"{m}"}},
		{"360-frames", &p.Frames, []string{"{m}"}},
	}
}

// Set sets a path from a text such as events=/api/v8/events/{m}. The resources are competitions, matches, events, lineups and
// 360-frames. An error leaves the paths as they were.
func (p *Paths) Set(text string) error {
	name, path, _ := strings.Cut(text, "=")
	var names []string
	for _, r := range p.resources() {
		if r.name == name {
			if err := r.check(path); err != nil {
				return err
			}
			*r.path = path
			return nil
		}
		names = append(names, r.name)
	}
	return fmt.Errorf("want RESOURCE=PATH with a resource of %s, not %q", strings.Join(names, ", "), text)
}

func (r resource) check(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("path of %s: %q does not begin with /", r.name, path)
	}
	for _, n := range r.needs {
		if !strings.Contains(path, n) {
			return fmt.Errorf("path of %s: %q lacks %s", r.name, path, n)
		}
	}
	return nil
}

// fill gives empty paths the usual ones and checks the others.
func (p *Paths) fill(usual Paths) error {
	defaults := usual.resources()
	for i, r := range p.resources() {
		if *r.path == "" {
			*r.path = *defaults[i].path
		}
		if err := r.check(*r.path); err != nil {
			return err
		}
	}
	return nil
}

// ofSeason is where the matches of a season are.
func ofSeason(path string, competition, season int) string {
	return strings.NewReplacer("{c}", strconv.Itoa(competition), "{s}", strconv.Itoa(season)).Replace(path)
}

// ofMatch is where something of a match is.
func ofMatch(path string, match int64) string {
	return strings.ReplaceAll(path, "{m}", strconv.FormatInt(match, 10))
}
