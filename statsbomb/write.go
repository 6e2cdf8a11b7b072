package statsbomb

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// lineupArchive is an archive that knows line-ups too.
type lineupArchive interface {
	Lineups(matchID int64) ([]Lineup, error)
}

// WriteFolder writes an archive's matches to a folder in the open-data layout, compressed, so that OpenFolder gives them back.
// A match without events is listed without. progress, if not nil, is told after each match. A folder that holds other matches
// is refused: lists would no longer fit what lies beside them.
func WriteFolder(ctx context.Context, dir string, a Archive, progress func(done, total int)) error {
	if exists(filepath.Join(dir, "matches")) {
		return fmt.Errorf("write matches: %s holds matches already; name a new folder or remove them", dir)
	}
	matches := a.Matches()
	for i, m := range matches {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("write matches: stopped after %d of %d: %w", i, len(matches), err)
		}
		if err := writeMatch(dir, a, m.ID); err != nil {
			return fmt.Errorf("write match %d: %w", m.ID, err)
		}
		if progress != nil {
			progress(i+1, len(matches))
		}
	}
	// The lists come last, so that a folder written in part is not taken for a whole one.
	if err := writeLists(dir, a.Source(), matches); err != nil {
		return fmt.Errorf("write the lists of matches: %w", err)
	}
	return nil
}

func writeMatch(dir string, a Archive, id int64) error {
	events, err := a.Events(id)
	if errors.Is(err, ErrNoEvents) {
		return nil
	}
	if err != nil {
		return err
	}
	text, framed, err := encodeEvents(events)
	if err != nil {
		return err
	}
	if err := writeGzip(filepath.Join(dir, "events", matchFile(id)+".gz"), text); err != nil {
		return err
	}
	if framed {
		if text, err = EncodeFrames(events); err != nil {
			return err
		}
		if err := writeGzip(filepath.Join(dir, "three-sixty", matchFile(id)+".gz"), text); err != nil {
			return err
		}
	}
	return writeLineups(dir, a, id)
}

// encodeEvents writes the events of a file, whose name tells the match and which has the frames beside it.
func encodeEvents(events []Event) (text []byte, framed bool, err error) {
	text = []byte{'['}
	for i := range events {
		e := events[i]
		framed = framed || e.FreezeFrame != nil
		e.MatchID, e.FreezeFrame, e.VisibleArea = 0, nil, nil
		if i > 0 {
			text = append(text, ',', '\n')
		}
		if text, err = AppendEvent(text, &e); err != nil {
			return nil, false, err
		}
	}
	return append(text, ']'), framed, nil
}

func writeLineups(dir string, a Archive, id int64) error {
	with, ok := a.(lineupArchive)
	if !ok {
		return nil
	}
	lineups, err := with.Lineups(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := EncodeLineups(lineups)
	if err != nil {
		return err
	}
	return writeGzip(filepath.Join(dir, "lineups", matchFile(id)+".gz"), text)
}

func writeLists(dir, source string, matches []Match) error {
	competitions := seasonsOf(matches)
	text, err := EncodeCompetitions(competitions)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "competitions.json"), text); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, SourceFile), []byte(source+"\n")); err != nil {
		return err
	}
	for _, c := range competitions {
		if text, err = EncodeMatches(Filter{Competition: c.Competition.ID, Seasons: []int{c.Season.ID}}.Apply(matches)); err != nil {
			return err
		}
		name := filepath.Join("matches", strconv.Itoa(c.Competition.ID), strconv.Itoa(c.Season.ID)+".json")
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

func writeGzip(path string, text []byte) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return writeFile(path, packed.Bytes())
}

// writeFile writes a file so that it is there whole or not at all: to a temporary name beside it, then renamed.
// It makes the folders above.
func writeFile(path string, content []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
