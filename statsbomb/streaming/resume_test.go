package streaming_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/checkpoint"
)

// shows is all that a board shows.
func shows(t *testing.T, board *streaming.Board) string {
	t.Helper()
	return fmt.Sprintln(board.Predictions().Total, board.Latest().Total, board.Sources()) + predictionsCSV(t, board) + fmt.Sprintln(board.Latest().List)
}

func remember() *remembering { return &remembering{map[int64]uint64{}} }

// goOn scores records on a board, as the checkpoint in a folder says: at most so many, if it says how many.
func goOn(t *testing.T, dir string, board *streaming.Board, records [][]stream.Record, most int64) {
	t.Helper()
	q := streaming.Score(stream.Memory("matches", records).BatchSize(29), board).Checkpoint(checkpoint.Folder(dir))
	if most > 0 {
		q = q.MaxRecords(most)
	}
	finish(t, q)
}

// TestABoardGoesOn: a board that a checkpoint makes again shows what the one before did, the newest predictions of all partitions, and counts what that one
// had forgotten.
func TestABoardGoesOn(t *testing.T) {
	for partitions := 1; partitions <= 16; partitions *= 4 {
		t.Run(fmt.Sprintf("%d partitions", partitions), func(t *testing.T) { boardGoesOn(t, partitioned(scorable(5, 16, 100), partitions)) })
	}
}

func boardGoesOn(t *testing.T, records [][]stream.Record) {
	dir := t.TempDir()
	var boards [2]*streaming.Board
	for i := range boards {
		boards[i] = newBoard(t, remember(), 100)
		boards[i].SetMatches(4)
		goOn(t, dir, boards[i], records, 0) // the second run finds that all has been read
	}
	if before, after := boards[0], boards[1]; shows(t, after) != shows(t, before) {
		t.Errorf("got %d predictions of %d matches, %v; want %d of %d, %v; or other ones", after.Predictions().Total, after.Latest().Total, after.Sources(),
			before.Predictions().Total, before.Latest().Total, before.Sources())
	}
	if total := boards[1].Predictions().Total; total != 1600 {
		t.Errorf("got %d predictions in all, want 1600", total)
	}
}

// TestABoardThatGoesOnForgetsSilentMatches: which match had no event longest is known over a restart, however many predictions the board had forgotten.
func TestABoardThatGoesOnForgetsSilentMatches(t *testing.T) {
	var records []stream.Record
	for second, match := range []int{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 5} { // 5 makes 4 be forgotten
		records = append(records, goal(match, second, "api"))
	}
	dir := t.TempDir()
	var board *streaming.Board
	for _, portion := range []int64{8, 4, 4} {
		board = newBoard(t, remember(), 1)
		board.SetMatches(4)
		goOn(t, dir, board, [][]stream.Record{records}, portion)
	}
	if got, want := matches(board), "1 2 3 5"; got != want {
		t.Errorf("got matches %s, want %s", got, want)
	}
}

// TestAPartitionBringsMatchesThatPlay: matches of another process's board are compared by when they had their events, not by how many events its
// board has had.
func TestAPartitionBringsMatchesThatPlay(t *testing.T) {
	here, there := newBoard(t, remember(), 10), newBoard(t, remember(), 10)
	there.SetMatches(2)
	goes, comes, was := here.Handler(), there.Handler(), there.Handler()
	for second := range 30 {
		handle(t, was, goal(1, second, "api"))
	}
	var saved snapshot
	saved.take(goes)
	handle(t, goes, goal(2, 1, "api"))
	saved.take(goes)
	saved.load(t, comes)
	handle(t, comes, goal(3, 1, "api"))
	if got, want := matches(there), "2 3"; got != want {
		t.Errorf("got matches %s, want %s", got, want)
	}
}

// matches are those that a board knows.
func matches(board *streaming.Board) (ids string) {
	for _, p := range board.Latest().List {
		ids = strings.TrimSpace(ids + " " + strconv.FormatInt(p.MatchID, 10))
	}
	return ids
}

// TestAScorerRemembersWhatTheBoardForgets: the model's matches are in a checkpoint though the board shows fewer, and so all answers are those of a scoring
// without a break.
func TestAScorerRemembersWhatTheBoardForgets(t *testing.T) {
	records := [][]stream.Record{scorable(9, 8, 100)}
	score := func(portions ...int64) string {
		dir, text := t.TempDir(), ""
		for _, portion := range portions {
			board := newBoard(t, remember(), 0)
			board.SetMatches(2)
			goOn(t, dir, board, records, portion)
			text = shows(t, board)
		}
		return text
	}
	if got, want := score(150, 150, 150, 150, 0), score(0); got != want {
		t.Error("other predictions than without a break")
	}
}

// forgetful is a model that forgets each match at its second event.
type forgetful struct{ remembering }

func (m *forgetful) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	err := m.remembering.Score(ctx, events, probabilities)
	for i := range events {
		if events[i].Event.Index == 2 {
			m.DropMatch(events[i].Event.MatchID)
		}
	}
	return err
}

// TestACheckpointForgetsWhatTheScorerForgets: what the model has forgotten does not come back, though the board shows it.
func TestACheckpointForgetsWhatTheScorerForgets(t *testing.T) {
	before, after := &forgetful{*remember()}, &forgetful{*remember()}
	board, next := newBoard(t, before, 0), newBoard(t, after, 0)
	h := board.Handler()
	var saved snapshot
	saved.take(h)
	handle(t, h, goal(1, 1, "api"), goal(2, 1, "api"))
	saved.take(h)
	handle(t, h, goal(1, 2, "api"))
	saved.take(h)
	saved.load(t, next.Handler())
	if got, want := fmt.Sprint(after.matches), fmt.Sprint(before.matches); got != want {
		t.Errorf("the model goes on with %s, want %s", got, want)
	}
	if got, want := matches(next), "1 2"; got != want {
		t.Errorf("the board shows matches %s, want %s", got, want)
	}
}

// TestAnEarlierForm: what an earlier version has saved is refused with what it lacks.
func TestAnEarlierForm(t *testing.T) {
	const earlier = "streaming: this scoring was saved by an earlier version, which kept the model's matches only as long as the board's, and not when and how many"
	for _, each := range []struct{ key, want string }{
		{"predictions 0", earlier},
		{"match 7", earlier},
		{"moon", `streaming: "moon" is no entry of a scoring`},
		{"shown 7", "streaming: match 7 of the board: "},
		{"brought", `streaming: "brought" is no entry of a scoring: `},
	} {
		err := newBoard(t, remember(), 0).Handler().(stream.Keeper).Load(each.key, []byte(`{"Goals":[1,0],"Seen":3,`))
		if err == nil || !strings.HasPrefix(err.Error(), each.want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: got %v, want %s", each.key, err, each.want)
		}
	}
}

// TestPredictionsComeBackInTheirOrder: whichever partition is restored first, the newest predictions are those of the board before, and the checkpoint
// keeps no others.
func TestPredictionsComeBackInTheirOrder(t *testing.T) {
	before := newBoard(t, remember(), 5)
	handlers := []stream.RecordHandler{before.Handler(), before.Handler(), before.Handler()}
	saved := make([]snapshot, len(handlers))
	for second := range 40 { // the last partition is silent at last
		i := second % min(3, 40-second)
		handle(t, handlers[i], goal(i+1, second, "api"))
		for k := range handlers {
			saved[k].take(handlers[k])
		}
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		after := newBoard(t, remember(), 5)
		chunks := 0
		for _, i := range order {
			saved[i].load(t, after.Handler())
			chunks += strings.Count(strings.Join(saved[i].keys, ","), "calls ")
		}
		if got, want := shows(t, after), shows(t, before); got != want || chunks != 5 {
			t.Errorf("order %d: got %swant %sfrom 5 epochs, not %d", order, got, want, chunks)
		}
	}
}

// FuzzCalls loads bytes as what a model said: whatever is taken is saved as the same.
func FuzzCalls(f *testing.F) {
	board := newBoard(f, remember(), 0)
	h := board.Handler()
	var saved snapshot
	saved.take(h)
	handle(f, h, goal(1, 1, "api"), goal(2, 2, "api"))
	handle(f, h, goal(1, 3, "api"))
	saved.take(h)
	f.Add(saved.entries["calls 0"])
	f.Fuzz(func(t *testing.T, b []byte) {
		h := newBoard(t, remember(), 0).Handler().(stream.Keeper)
		if h.Load("calls 0", b) != nil {
			return
		}
		again := newBoard(t, remember(), 0).Handler().(stream.Keeper)
		if err := again.Load("calls 0", h.Save(nil, "calls 0")); err != nil {
			t.Errorf("what was loaded is saved so that it cannot be loaded: %v", err)
		}
	})
}

// TestAPartitionGoes: what a partition has brought goes with it to another board, as it came, and leaves the first.
func TestAPartitionGoes(t *testing.T) {
	here, there := newBoard(t, remember(), 10), newBoard(t, remember(), 10)
	stays, goes, comes := here.Handler(), here.Handler(), there.Handler()
	handle(t, stays, goal(1, 1, "api"), goal(2, 2, "api"))
	var saved snapshot
	saved.take(goes)
	for second := range 30 {
		handle(t, goes, goal(3, second, "simulator"))
		saved.take(goes)
	}
	saved.load(t, comes)
	goes.(stream.Dropper).Drop()
	for _, each := range []struct {
		name            string
		of              *streaming.Board
		total, matches  int64
		sources, latest string
	}{
		{"the first", here, 2, 2, "[{api 2}]", "1:0 1:0"},
		{"the other", there, 30, 1, "[{simulator 30}]", "30:0"},
	} {
		latest := ""
		for _, p := range each.of.Latest().List {
			latest = strings.TrimSpace(latest + " " + p.Score())
		}
		total, matches, sources := each.of.Predictions().Total, each.of.Latest().Total, fmt.Sprint(each.of.Sources())
		if total != each.total || matches != each.matches || sources != each.sources || latest != each.latest {
			t.Errorf("%s board: got %d predictions, %d matches, sources %s, %s, want %d, %d, %s, %s", each.name, total, matches, sources, latest, each.total,
				each.matches, each.sources, each.latest)
		}
	}
}

// TestPartitionsComeAndGoWhileOthersPlay: a model is called by one at a time, whatever the call.
func TestPartitionsComeAndGoWhileOthersPlay(t *testing.T) {
	model := &alone{Keeper: remember()}
	board := newBoard(t, model, 10)
	plays, ended := board.Handler(), make(chan struct{})
	go func() {
		defer close(ended)
		for second := range 60 {
			handle(t, plays, goal(1, second, "api"))
		}
	}()
	for second := range 60 {
		var saved snapshot
		from := newBoard(t, remember(), 10).Handler()
		saved.take(from)
		handle(t, from, goal(2, second, "api"))
		saved.take(from)
		comes := board.Handler()
		saved.load(t, comes)
		saved.take(comes)
		comes.(stream.Dropper).Drop()
	}
	<-ended
	if model.met.Load() {
		t.Error("two calls at a time")
	}
}

// alone is a model that notices when it is called while it is called.
type alone struct {
	streaming.Keeper
	calls atomic.Int64
	met   atomic.Bool
}

func (m *alone) enter() func() {
	if m.calls.Add(1) > 1 {
		m.met.Store(true)
	}
	time.Sleep(100 * time.Microsecond)
	return func() { m.calls.Add(-1) }
}

func (m *alone) Score(ctx context.Context, events []statsbomb.MatchEvent, probabilities [][]float64) error {
	defer m.enter()()
	return m.Keeper.Score(ctx, events, probabilities)
}

func (m *alone) SaveMatch(dst []byte, id int64) []byte {
	defer m.enter()()
	return m.Keeper.SaveMatch(dst, id)
}

func (m *alone) LoadMatch(id int64, saved []byte) error {
	defer m.enter()()
	return m.Keeper.LoadMatch(id, saved)
}

func (m *alone) DropMatch(id int64) {
	defer m.enter()()
	m.Keeper.DropMatch(id)
}

// handle has a handler score records.
func handle(t testing.TB, h stream.RecordHandler, records ...stream.Record) {
	t.Helper()
	for i := range records {
		if _, reason := h.Record(t.Context(), &records[i]); reason != "" {
			t.Error(reason)
		}
	}
	if err := h.Flush(t.Context(), func(time.Time, ...stream.Value) error { return nil }); err != nil {
		t.Error(err)
	}
}

// snapshot is what a checkpoint has of a handler. Its zero value is that of a checkpoint that begins.
type snapshot struct {
	keys    []string // as they were made
	entries map[string][]byte
}

// take ends an epoch.
func (s *snapshot) take(h stream.RecordHandler) {
	if s.entries == nil {
		s.entries = map[string][]byte{}
	}
	changed := map[string]bool{}
	h.(stream.Keeper).Changes(func(key string) {
		if changed[key] = true; !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
	}, func(gone string) {
		s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return key == gone })
		delete(s.entries, gone)
		delete(changed, gone)
	})
	for key := range changed {
		s.entries[key] = h.(stream.Keeper).Save(nil, key)
	}
}

// load has a handler go on from the snapshot.
func (s *snapshot) load(t *testing.T, h stream.RecordHandler) {
	t.Helper()
	for _, key := range s.keys {
		if err := h.(stream.Keeper).Load(key, s.entries[key]); err != nil {
			t.Fatal(err)
		}
	}
}
