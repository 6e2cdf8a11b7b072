package statsbomb

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folder is an Archive over a folder in StatsBomb's open-data layout, each file plain or with .gz added to its name:
//
//	competitions.json
//	matches/<competition>/<season>.json
//	events/<match>.json
//	lineups/<match>.json
//	three-sixty/<match>.json
//
// Only matches/ must be there; a match may lack the other files. The lists are read when the folder is opened, the rest
// when asked for. A Folder does not change after OpenFolder, so goroutines may share it.
type Folder struct {
	dir          string
	source       string
	competitions []Competition
	matches      []Match
	byID         map[int64]int
}

// SourceFile is the file in a folder of matches that says where they come from; a folder without it holds open data.
const SourceFile = "source.txt"

// SourceOpenData, SourceAPI and SourceSimulator are what Archive.Source returns: the public open data, StatsBomb's API for
// its customers, and matches that never were.
const (
	SourceOpenData  = "open-data"
	SourceAPI       = "api"
	SourceSimulator = "simulator"
)

// SourceOf tells where the matches of a folder come from. A folder that does not say, or is not there, is one of open data.
func SourceOf(dir string) string {
	mark, err := os.ReadFile(filepath.Join(dir, SourceFile))
	if source := strings.TrimSpace(string(mark)); err == nil && (source == SourceAPI || source == SourceSimulator) {
		return source
	}
	return SourceOpenData
}

// OpenFolder reads the lists of competitions and matches. Errors name the file.
func OpenFolder(dir string) (*Folder, error) {
	f := &Folder{dir: dir, source: SourceOf(dir), byID: make(map[int64]int)}
	if err := f.readMatches(); err != nil {
		return nil, fmt.Errorf("open match folder: %w", err)
	}
	if err := f.readCompetitions(); err != nil {
		return nil, fmt.Errorf("open match folder: %w", err)
	}
	return f, nil
}

func (f *Folder) readMatches() error {
	root := filepath.Join(f.dir, "matches")
	if _, err := os.Stat(root); err != nil {
		return fmt.Errorf("%s has no folder \"matches\", so it is not in StatsBomb's open-data layout (\"cancha data fetch -dir DIR\" makes such a folder): %w", f.dir, err)
	}
	err := f.walkMatches(root, map[string]bool{})
	slices.SortFunc(f.matches, compareMatches)
	for i, m := range f.matches {
		if k, ok := f.byID[m.ID]; ok && err == nil {
			err = fmt.Errorf("match %d is listed twice, for seasons %d and %d", m.ID, f.matches[k].Season.ID, m.Season.ID)
		}
		f.byID[m.ID] = i
	}
	return err
}

// walkMatches adds the lists below a folder, which may be a link as may each folder in it; one that was walked before is left out.
func (f *Folder) walkMatches(folder string, walked map[string]bool) error {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || walked[real] {
		return err
	}
	walked[real] = true
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = f.walkMatches(path, walked)
		case isJSON(path):
			err = f.addMatches(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isJSON(path string) bool {
	return strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".json.gz")
}

func (f *Folder) addMatches(path string) error {
	if strings.HasSuffix(path, ".gz") && exists(strings.TrimSuffix(path, ".gz")) {
		return nil // the plain file beside it goes first, as everywhere in the folder
	}
	text, err := readJSON(path)
	if err != nil {
		return err
	}
	list, err := DecodeMatches(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f.matches = append(f.matches, list...)
	return nil
}

// readCompetitions reads competitions.json, or makes the list from the matches where that file is not there.
func (f *Folder) readCompetitions() error {
	path, text, err := f.find("competitions.json")
	if errors.Is(err, fs.ErrNotExist) {
		f.competitions = seasonsOf(f.matches)
		return nil
	}
	if err != nil {
		return err
	}
	if f.competitions, err = DecodeCompetitions(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Source returns what SourceOf told when the folder was opened.
func (f *Folder) Source() string { return f.source }

// Dir returns the folder as it was named to OpenFolder.
func (f *Folder) Dir() string { return f.dir }

// Competitions returns the seasons that the folder lists. The slice is the caller's.
func (f *Folder) Competitions() []Competition { return slices.Clone(f.competitions) }

// Matches returns all matches listed, ordered by date, kick-off and id. The slice is the caller's.
func (f *Folder) Matches() []Match { return slices.Clone(f.matches) }

// Match returns a match of the list.
func (f *Folder) Match(id int64) (Match, bool) {
	i, ok := f.byID[id]
	if !ok {
		return Match{}, false
	}
	return f.matches[i], true
}

// Events returns a match's events ordered by (period, index), with 360 frames joined where there are any. A match that is
// listed but has no events gives ErrNoEvents; a match that is not listed gives another error.
func (f *Folder) Events(matchID int64) ([]Event, error) {
	if _, ok := f.byID[matchID]; !ok {
		return nil, fmt.Errorf("match %d is not listed in %s", matchID, f.dir)
	}
	path, text, err := f.find(filepath.Join("events", matchFile(matchID)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("match %d in %s: %w", matchID, f.dir, ErrNoEvents)
	}
	if err != nil {
		return nil, err
	}
	var d Decoder
	events, err := d.DecodeAll(text)
	if err != nil {
		return nil, fmt.Errorf("match %d: %s: %w", matchID, path, err)
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("match %d: %s holds none: %w", matchID, path, ErrNoEvents)
	}
	for i := range events {
		events[i].MatchID = matchID
	}
	order(events)
	return events, f.joinFrames(&d, matchID, events)
}

// order sorts events by (period, index). Files are in that order already as a rule, and an event is large to move.
func order(events []Event) {
	compare := func(a, b Event) int { return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.Index, b.Index)) }
	if !slices.IsSortedFunc(events, compare) {
		slices.SortStableFunc(events, compare)
	}
}

// joinFrames puts 360 frames to the events with their ids. Frames of events that are not there are left out: ids change
// when StatsBomb collects a match anew.
func (f *Folder) joinFrames(d *Decoder, matchID int64, events []Event) error {
	path, text, err := f.find(filepath.Join("three-sixty", matchFile(matchID)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	frames, err := d.DecodeFrames(text)
	if err != nil {
		return fmt.Errorf("match %d: %s: %w", matchID, path, err)
	}
	byEvent := make(map[string]*Frame, len(frames))
	for i := range frames {
		byEvent[frames[i].EventID] = &frames[i]
	}
	for i := range events {
		if frame := byEvent[events[i].ID]; frame != nil && events[i].ID != "" {
			events[i].FreezeFrame, events[i].VisibleArea = frame.FreezeFrame, frame.VisibleArea
		}
	}
	return nil
}

// Lineups returns the two sides' squads. A match without a lineups file gives an error that wraps fs.ErrNotExist.
func (f *Folder) Lineups(matchID int64) ([]Lineup, error) {
	path, text, err := f.find(filepath.Join("lineups", matchFile(matchID)))
	if err != nil {
		return nil, fmt.Errorf("lineups of match %d: %w", matchID, err)
	}
	lineups, err := DecodeLineups(text)
	if err != nil {
		return nil, fmt.Errorf("match %d: %s: %w", matchID, path, err)
	}
	return lineups, nil
}

func matchFile(matchID int64) string { return strconv.FormatInt(matchID, 10) + ".json" }

// find reads a file of the folder, plain or compressed, and returns the path that it was found at.
func (f *Folder) find(name string) (string, []byte, error) {
	path := filepath.Join(f.dir, name)
	text, err := readJSON(path)
	if errors.Is(err, fs.ErrNotExist) {
		path += ".gz"
		text, err = readJSON(path)
	}
	return path, text, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// maxFile bounds what one file may hold when unpacked; the largest three-sixty file has 9 MB.
const maxFile = 256 << 20

// readJSON reads a file, unpacking it if its name ends in .gz.
func readJSON(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s holds more than %d bytes", path, maxFile)
	}
	packed, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return packed, err
	}
	text, err := gunzip(packed)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", path, err)
	}
	return text, nil
}

func gunzip(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.Grow(12 * len(packed)) // events shrink to a tenth or less
	n, err := io.Copy(&text, io.LimitReader(z, maxFile+1))
	if err == nil && n > maxFile {
		err = fmt.Errorf("holds more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, err
	}
	return text.Bytes(), z.Close()
}
