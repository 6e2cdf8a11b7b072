package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cancha/statsbomb"
)

// competitions fetches the list of all seasons. The folder says where its matches come from before it has any: a fetch that is
// killed leaves none that could be taken for others.
func (f *fetcher) competitions(ctx context.Context) (list []statsbomb.Competition, err error) {
	one := file{name: "competitions.json", path: f.Paths.Competitions, anew: true, check: func(text []byte) (err error) {
		list, err = statsbomb.DecodeCompetitions(text)
		return err
	}}
	text, err := f.download(ctx, one)
	if err != nil {
		return nil, err
	}
	if f.Account != nil {
		if err := f.save(file{name: statsbomb.SourceFile, anew: true}, []byte(f.source()+"\n")); err != nil {
			return nil, err
		}
	}
	return list, f.keep(one, text)
}

// choose returns the seasons to look at, the latest first.
func (f *fetcher) choose(competitions []statsbomb.Competition) ([]statsbomb.Ref, error) {
	seasons := statsbomb.Seasons(competitions, f.Competition)
	if len(seasons) == 0 {
		return nil, fmt.Errorf("%w: %d; %s has %s", ErrUnknownCompetition, f.Competition, f.Base, names(competitions))
	}
	if len(f.SeasonIDs) == 0 {
		return seasons, nil
	}
	for _, id := range f.SeasonIDs {
		if !slices.ContainsFunc(seasons, func(s statsbomb.Ref) bool { return s.ID == id }) {
			return nil, fmt.Errorf("competition %d has no season %d, but %s", f.Competition, id, refs(seasons))
		}
	}
	return slices.DeleteFunc(seasons, func(s statsbomb.Ref) bool { return !slices.Contains(f.SeasonIDs, s.ID) }), nil
}

func names(competitions []statsbomb.Competition) string {
	var out []statsbomb.Ref
	for _, c := range competitions {
		if !slices.ContainsFunc(out, func(r statsbomb.Ref) bool { return r.ID == c.Competition.ID }) {
			out = append(out, c.Competition)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return refs(out)
}

func refs(list []statsbomb.Ref) string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = fmt.Sprintf("%d %s", r.ID, r.Name)
	}
	return strings.Join(out, ", ")
}

// lists fetches lists of matches until there are enough seasons that have some. A season to come is listed without, and would
// otherwise be taken for one of the last.
func (f *fetcher) lists(ctx context.Context, seasons []statsbomb.Ref) (taken []statsbomb.Ref, matches []statsbomb.Match, err error) {
	for _, s := range seasons {
		if len(f.SeasonIDs) == 0 && f.Seasons > 0 && len(taken) == f.Seasons {
			break
		}
		list, err := f.list(ctx, s)
		switch {
		case isAbsent(err):
			f.warn(fmt.Errorf("season %d %s is left out: %w", s.ID, s.Name, err))
		case err != nil:
			return taken, matches, err
		default:
			taken, matches = append(taken, s), append(matches, list...)
		}
	}
	if len(matches) == 0 {
		return taken, nil, fmt.Errorf("%w in the seasons %s", ErrNoMatches, refs(seasons))
	}
	return taken, matches, nil
}

// list fetches the list of a season's matches. It is errEmpty if none of them is there to fetch.
func (f *fetcher) list(ctx context.Context, season statsbomb.Ref) (list []statsbomb.Match, err error) {
	var kept []byte
	var others int
	one := file{
		name: "matches/" + strconv.Itoa(f.Competition) + "/" + strconv.Itoa(season.ID) + ".json",
		path: ofSeason(f.Paths.Matches, f.Competition, season.ID), anew: true, optional: true,
		check: func(text []byte) (err error) {
			if kept, others, err = onlyAvailable(text); err != nil {
				return err
			}
			list, err = statsbomb.DecodeMatches(kept)
			return some(len(list), err)
		},
	}
	if _, err := f.download(ctx, one); err != nil {
		return nil, err
	}
	if others > 0 {
		f.warn(fmt.Errorf("season %d %s: %d of %d matches are not available yet and left out", season.ID, season.Name, others, others+len(list)))
	}
	return list, f.keep(one, kept)
}

// available is the status of a match, or of its frames, that has been collected.
const available = "available"

// onlyAvailable leaves out matches that are to come or being collected: the API lists them, some without a team, the open data
// do not. What it keeps stays as it is, so fields that only the API has are there.
func onlyAvailable(text []byte) (kept []byte, others int, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, 0, err
	}
	var out [][]byte
	for _, entry := range list {
		var match struct {
			Status string `json:"match_status"`
		}
		if err := json.Unmarshal(entry, &match); err != nil {
			return nil, 0, err
		}
		if match.Status == "" || match.Status == available {
			out = append(out, entry)
		}
	}
	if len(out) == len(list) {
		return text, 0, nil
	}
	return slices.Concat([]byte("["), bytes.Join(out, []byte(",\n")), []byte("]\n")), len(list) - len(out), nil
}
