package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"cancha/stream/internal/lineage"
)

// Epochs names the files of a folder that hold the rows of one epoch each: by the query, the unit of it, the epoch and the run that it is of. A file is made by
// Partial and Complete, so those that are there are whole. Beside them lies a hidden file for each unit, with the path of the runs that have written it: so
// a query that goes on from an older snapshot, or from one of another copy of its checkpoint, finds out whether the folder has what that knows. Its methods
// may be called at the same time.
type Epochs struct {
	Dir, Suffix string

	mu    sync.Mutex
	run   string           // of the query that has it open
	units map[string]*unit // nil: it is not open
}

// unit is a unit of a query whose files are in the folder.
type unit struct {
	begins string       // what the names of its files begin with
	was    lineage.Path // as the folder was when it was opened, or as this process has written it since
	path   lineage.Path // with the run that has it open
	later  []string     // names of files that are not of the path, to be taken off
	back   int64        // the epoch that it goes back to
	note   string
	ready  bool // it has gone back
}

// State is what a checkpoint knows of a unit in a folder: see stream.Mark.
type State struct {
	Run, Query, Unit string
	Known            bool  // the checkpoint knows the folder
	Epoch            int64 // the last whose rows are there; 0: none
	Wrote            ID    // the last that was written; zero: none, or not known
	Snapshot         ID    // that the query goes on from; zero: it begins
}

// ID is an epoch of a run.
type ID struct {
	Run    string
	Number int64
}

// ErrServes refuses a sink to a second query.
var ErrServes = errors.New("the sink serves another query that runs: make one of its own for each query, or wait for the end of that one")

// Open makes the folder and begins with a unit, or begins anew: nothing that is there changes before Revert. It returns the last epoch of the unit that is
// there, up to the snapshot's; of a folder that does not have what the checkpoint knows it is an error. Until Close it is open for one run of a query.
func (e *Epochs) Open(s State) (last int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.units != nil && e.run != s.Run {
		return 0, ErrServes
	}
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return 0, fmt.Errorf("write rows: %w", Full(err))
	}
	found, err := e.look(s)
	if err != nil {
		return 0, fmt.Errorf("write rows: %w", err)
	}
	u, last, err := found.meet(s)
	if err != nil {
		return 0, err
	}
	if e.units == nil {
		e.run, e.units = s.Run, map[string]*unit{}
	}
	e.units[s.Unit] = u
	return last, nil
}

// Place tells where these files are: two that are equal have the same names.
func (e *Epochs) Place() string { return filepath.Join(Place(e.Dir), "*"+e.Suffix) }

// Pattern matches the paths of all files with rows, whatever their query, unit, epoch and run are called.
func (e *Epochs) Pattern() string {
	const hex = "[0-9a-f]"
	digits, run := strings.Repeat("[0-9]", 12), strings.Repeat(hex, 8)
	return filepath.Join(e.Dir, run+"-*-"+digits+"-"+run+e.Suffix)
}

// content is what a folder has of a unit.
type content struct {
	dir    string
	begins string
	known  bool         // there is a path
	path   lineage.Path // of the runs that have written it
	files  []epochFile
	others int    // files that other checkpoints have written of a unit of this name
	other  string // one of them
}

// epochFile is a file with the rows of an epoch.
type epochFile struct {
	name string
	ID   // its run is short; empty: a version that named no runs
}

// epochNames are the names of files: query, unit, epoch, and the run but where a version that named none wrote it.
var epochNames = regexp.MustCompile(`^(.{1,8})-(.*)-(\d{12})(?:-([^-]{1,8}))?$`)

// look reads what the folder has of a unit.
func (e *Epochs) look(s State) (*content, error) {
	unit := url.PathEscape(strings.ReplaceAll(s.Unit, " ", "-"))
	c := &content{dir: e.Dir, begins: fmt.Sprintf("%.8s-%s-", s.Query, unit)}
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), e.Suffix)
		words := epochNames.FindStringSubmatch(name)
		if !is || words == nil || strings.HasPrefix(name, ".") {
			continue
		}
		if words[1] != fmt.Sprintf("%.8s", s.Query) { // of whichever unit: units of a group have their topics' names
			c.others++
			c.other = entry.Name()
			continue
		}
		if words[2] != unit {
			continue
		}
		number, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil {
			continue // unreachable: twelve digits
		}
		c.files = append(c.files, epochFile{entry.Name(), ID{words[4], number}})
	}
	c.path, c.known, err = e.readPath(c.begins)
	return c, err
}

// readPath reads which runs have written a unit; known is false where nobody has noted it.
func (e *Epochs) readPath(begins string) (path lineage.Path, known bool, err error) {
	text, err := os.ReadFile(e.pathFile(begins))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		path, err = lineage.Parse(string(text))
	}
	if err != nil {
		return nil, false, fmt.Errorf("which runs have written %s: %w", e.Dir, err)
	}
	return path, true, nil
}

// pathFile is the hidden file that says which runs have written a unit. It does not end as those with rows do: some who read *.csv read hidden files, too.
func (e *Epochs) pathFile(begins string) string {
	return filepath.Join(e.Dir, "."+begins+strings.TrimPrefix(e.Suffix, ".")+".runs")
}

// has tells whether there is the file of an epoch.
func (c *content) has(id ID) bool {
	for _, f := range c.files {
		if f.Number == id.Number && f.Run == lineage.Short(id.Run) {
			return true
		}
	}
	return false
}

// meet compares a folder with what a checkpoint knows: its snapshot must be one of those that the folder's runs have come by.
func (c *content) meet(s State) (u *unit, last int64, err error) {
	path, err := c.upTo(s)
	if err != nil {
		return nil, 0, err
	}
	u = &unit{begins: c.begins, was: c.path, path: path.On(s.Run), back: s.Snapshot.Number}
	kept := 0
	for _, f := range c.files {
		switch {
		case !path.Has(f.Run, f.Number):
			u.later = append(u.later, f.name)
		case f.ID == ID{lineage.Short(s.Snapshot.Run), s.Snapshot.Number}:
			last = f.Number
		default:
			kept++
		}
	}
	switch {
	case kept > 0 && s.Wrote != (ID{}) && s.Wrote != s.Snapshot && !c.has(s.Wrote):
		return nil, 0, fmt.Errorf("the checkpoint says that the folder has the rows up to epoch %d, and those of the last are not there: put them back, "+
			"or write to another folder, which gets the rows from now on", s.Wrote.Number)
	case kept > 0 && !s.Known && last == 0:
		return nil, 0, fmt.Errorf("the folder has rows of this query up to epoch %d, and the checkpoint does not know it by this name: "+
			"name it as it was named, or write to another folder, which gets the rows from now on", s.Snapshot.Number)
	case c.others > 0 && len(c.files) == 0 && !s.Known && s.Snapshot.Number > 0:
		return nil, 0, fmt.Errorf("the folder has rows of another checkpoint (%s and %d more files), and this one, of epoch %d, has not written there yet: "+
			"go on from the checkpoint that wrote them, or write to another folder, which gets the rows from now on", c.other, c.others-1, s.Snapshot.Number)
	case c.others > 0 && s.Snapshot.Number == 0:
		u.note = fmt.Sprintf("The folder %s has rows of another checkpoint, too (%s and %d more files): who reads the folder reads those of both.", c.dir, c.other, c.others-1)
	}
	return u, max(last, s.Epoch), nil
}

// upTo is the path of a folder up to the snapshot that the query goes on from. The folder may lack the runs behind the last rows that the snapshot knows to be
// there: they have died before they came to it.
func (c *content) upTo(s State) (lineage.Path, error) {
	at := s.Snapshot
	begins := at == ID{}
	switch {
	case begins && len(c.files) > 0:
		return nil, fmt.Errorf("the folder has rows of this query (%s), whose checkpoint has no snapshot: "+
			"put the snapshots back, or move the folder away", c.files[len(c.files)-1].name)
	case begins:
		return nil, nil
	case c.known && c.path.Has(at.Run, at.Number):
		return c.path.Back(at.Run, at.Number), nil
	case c.known && s.Wrote != (ID{}) && c.path.Has(s.Wrote.Run, s.Wrote.Number):
		return c.path.Through(s.Wrote.Run, s.Wrote.Number, at.Run, at.Number), nil
	case c.known && len(c.files) > 0:
		return nil, fmt.Errorf("the folder has been written since by a query that has not come by epoch %d of the checkpoint, "+
			"but has gone on from an older snapshot or from another copy: go on from the checkpoint that wrote it last, or move the folder away and write to another, which gets the rows from now on", at.Number)
	case s.Wrote != (ID{}) && !c.has(s.Wrote):
		return nil, fmt.Errorf("the checkpoint says that the folder has the rows up to epoch %d, and they are not there: put them back, "+
			"or write to another folder, which gets the rows from now on", s.Wrote.Number)
	}
	if len(c.files) > 0 { // which runs they are of nobody knows any more
		return lineage.Path{{To: at.Number}}, nil
	}
	return lineage.Path{{ID: lineage.Short(at.Run), To: at.Number}}, nil
}

// Revert takes off what is there of epochs behind the snapshot that the query goes on from, and notes that this run goes on. The run must
// have taken a snapshot by then: of several processes that go on from the same one only that one may. It says what it has taken off.
func (e *Epochs) Revert(unit string) (note string, err error) {
	u := e.unit(unit)
	if u == nil || u.ready {
		return "", nil
	}
	if err = e.goOn(u, u.path); err == nil {
		err = e.takeOff(u.later)
	}
	if err != nil {
		return "", fmt.Errorf("go back to epoch %d: %w", u.back, Full(err))
	}
	u.ready = true
	if n := len(u.later); n > 0 {
		return fmt.Sprintf("The folder %s had rows from behind epoch %d, which come again: it has gone back. Files that were removed: %d.", e.Dir, u.back, n), nil
	}
	return u.note, nil
}

func (e *Epochs) unit(name string) *unit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.units[name]
}

// goOn writes the path of a unit, unless another query has gone on from the same snapshot.
func (e *Epochs) goOn(u *unit, path lineage.Path) error {
	now, known, err := e.readPath(u.begins)
	switch {
	case err != nil:
		return err
	case known && now.String() == path.String():
		return nil
	case known && now.String() != u.was.String() && !path.GoesOnFrom(now): // else it is of a process whose snapshot this one goes on from
		return fmt.Errorf("%w: it writes the folder, and has gone on from an older snapshot: of two that go on from one checkpoint and its savepoint "+
			"only one may write to the same folder", lineage.ErrTakenOver)
	}
	name := e.pathFile(u.begins)
	f, err := Partial(name)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(path.String() + "\n"); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err := Complete(f, name); err != nil {
		return err
	}
	u.was = path
	return nil
}

// takeOff removes files, once the path is written that does not have them: whoever comes between finds them again.
func (e *Epochs) takeOff(later []string) error {
	for _, name := range later {
		if err := os.Remove(filepath.Join(e.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(later) == 0 {
		return nil
	}
	return SyncFolder(e.Dir)
}

// Next returns the path of an epoch's file that is to be written, of this run or of the snapshot that it goes on from; "" if it is there,
// with the same rows. The unit must be open.
func (e *Epochs) Next(unit string, epoch int64, run string) (path string, err error) {
	u := e.unit(unit)
	if u == nil {
		return "", fmt.Errorf("the folder is not open for %q", unit)
	}
	if err := e.come(u, unit, ID{run, epoch}); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s%012d", u.begins, epoch)
	if run != "" {
		name += "-" + lineage.Short(run)
	}
	path = filepath.Join(e.Dir, name+e.Suffix)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// come sees to it that the path of a unit has an epoch whose rows are to be written.
func (e *Epochs) come(u *unit, unit string, id ID) error {
	if id.Run == e.run {
		if _, err := e.Revert(unit); err != nil { // who wraps a sink may have hidden that it can
			return err
		}
	}
	now, _, err := e.readPath(u.begins)
	if err != nil || now.Has(id.Run, id.Number) {
		return err
	}
	return e.goOn(u, u.path.Upto(id.Run))
}

// Close ends all units.
func (e *Epochs) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.units = nil
}
