package live

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
)

// output records what a cell shows: when, whether it updates, and its text.
type output struct {
	mu     sync.Mutex
	start  time.Time
	frames []shown
	outlet *cellio.Outlet
}

type shown struct {
	at     time.Duration
	cell   int64
	update bool
	id     string
	data   map[string]any
}

func (s shown) text() string { return s.data["text/plain"].(string) }

// cell makes the test a cell.
func cell(t *testing.T) *output {
	o := &output{start: time.Now()}
	o.outlet = cellio.NewOutlet(func(f cellio.Frame) error {
		var d cellio.Display
		if err := json.Unmarshal(f.Body, &d); err != nil {
			t.Errorf("frame %s: %v", f.Kind, err)
		}
		if f.Kind == cellio.KindClear {
			return nil
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.frames = append(o.frames, shown{time.Since(o.start), f.Cell, f.Kind == cellio.KindUpdate, d.Transient.ID, d.Data})
		return nil
	})
	cellio.Attach(o.outlet)
	cellio.NewRun(1)
	t.Cleanup(func() { o.outlet.Close(); cellio.Attach(nil) })
	return o
}

func (o *output) all() []shown {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.frames
}

func TestFrameIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		for i := range 101 { // one each 10 ms for a second
			before := time.Now()
			f.Set(i)
			if took := time.Since(before); took != 0 {
				t.Fatalf("Set made its caller wait %v", took)
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		var texts []string
		for k, s := range o.all() {
			texts = append(texts, s.text())
			if s.update != (k > 0) || s.id != o.all()[0].id || s.id == "" {
				t.Errorf("output %d: update %v of %q", k, s.update, s.id)
			}
			if k > 0 && s.at-o.all()[k-1].at < paintEvery {
				t.Errorf("output %d comes %v after the one before", k, s.at-o.all()[k-1].at)
			}
		}
		if got := len(texts); got < 5 || got > 6 || texts[0] != "0" || texts[got-1] != "100" {
			t.Errorf("got %v, want five or six from 0 to 100", texts)
		}
		f.Close()
	})
}

func TestCloseShowsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		f.Set("first")
		f.Set("last")
		f.Close()
		f.Close()
		f.Set("late")
		time.Sleep(time.Minute)
		if got := o.all(); len(got) != 2 || got[1].text() != `"last"` || got[1].at != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestFrameKeepsItsCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		cellio.NewRun(7).Do(func() { f.Set(1); f.Set(2) })
		cellio.NewRun(8) // another cell starts before the second value is shown
		time.Sleep(time.Second)
		if got := o.all(); len(got) != 2 || got[1].cell != 7 {
			t.Errorf("got %+v, want both from cell 7", got)
		}
	})
}

func TestEndOfCellShowsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		run := cellio.NewRun(9)
		f := NewFrame()
		run.Do(func() { f.Set(1); f.Set(2) })
		run.End()
		if got := o.all(); len(got) != 2 || got[1].text() != "2" || got[1].at != 0 {
			t.Errorf("at the end of the cell: got %+v, want 1 and 2", got)
		}
		time.Sleep(time.Second)
		if got := len(o.all()); got != 2 {
			t.Errorf("%d outputs, want 2", got)
		}
	})
}

// last fails the test unless so many outputs came, the last of them a text of a cell.
func (o *output) last(t *testing.T, of int, cell int64, text string) {
	t.Helper()
	got := o.all()
	if n := len(got); n == 0 || n != of || got[n-1].cell != cell || got[n-1].text() != text {
		t.Fatalf("got %+v, want %d, the last of them %s of cell %d", got, of, text, cell)
	}
}

// TestNextCellShowsItsLast: the goroutine of an earlier cell still waits, and does not take what the next cell shows by its end.
func TestNextCellShowsItsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		first, second := cellio.NewRun(7), cellio.NewRun(8)
		first.Do(func() { f.Set(1); f.Set(2) })
		first.End()
		second.Do(func() { f.Set(3) })
		second.End()
		o.last(t, 3, 8, "3")
		time.Sleep(time.Second)
		o.last(t, 3, 8, "3")
	})
}

// TestEachCellShowsItsOwn: cells that run beside each other set one frame, and the later value's cell shows it.
func TestEachCellShowsItsOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(f *Frame, earlier, later *cellio.Run)
		cell int64
		text string
	}{
		{"in time", func(*Frame, *cellio.Run, *cellio.Run) {}, 8, "3"},
		{"the earlier ends", func(_ *Frame, earlier, _ *cellio.Run) { earlier.End() }, 8, "3"},
		{"the later ends", func(_ *Frame, _, later *cellio.Run) { later.End() }, 8, "3"},
		{"the earlier goes on", func(f *Frame, earlier, _ *cellio.Run) { earlier.Do(func() { f.Set(4) }) }, 7, "4"},
		{"the earlier closes", func(f *Frame, earlier, _ *cellio.Run) { earlier.Do(f.Close) }, 8, "3"},
		{"another closes", func(f *Frame, _, _ *cellio.Run) { cellio.NewRun(9).Do(f.Close) }, 9, "3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := cell(t)
				f := NewFrame()
				earlier, later := cellio.NewRun(7), cellio.NewRun(8)
				earlier.Do(func() { f.Set(1); f.Set(2) })
				later.Do(func() { f.Set(3) })
				c.then(f, earlier, later)
				time.Sleep(time.Second)
				o.last(t, 2, c.cell, c.text)
			})
		})
	}
}

// TestInterruptedDisplay: a first display that an interrupt keeps from leaving is shown when the cell ends, and then updated.
func TestInterruptedDisplay(t *testing.T) {
	for name, set := range map[string]func(f *Frame){
		"set":           func(f *Frame) { f.Set(1) },
		"set and close": func(f *Frame) { defer f.Close(); f.Set(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := cell(t)
				o.outlet.Grant(cellio.Credit{})
				synctest.Wait()
				fill(o.outlet)
				f, run := NewFrame(), cellio.NewRun(7)
				go run.Do(func() { set(f) })
				synctest.Wait()
				run.Interrupt()
				synctest.Wait()
				run.End()
				o.outlet.Flush()
				o.last(t, 1, 7, "1")
				if o.all()[0].update {
					t.Error("it updates what was never displayed")
				}
				cellio.NewRun(8).Do(func() { f.Set(2); f.Close() })
				o.outlet.Flush()
				if got := o.all(); name == "set" && (len(got) != 2 || !got[1].update) {
					t.Errorf("got %+v, want an update of it", got)
				}
			})
		})
	}
}

// fill has frames wait for credit until no more may.
func fill(o *cellio.Outlet) {
	for range 64 {
		_ = o.Emit(cellio.KindClear, 1, cellio.Clear{})
	}
}

func TestManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { f.Set(i) })
		}
		wg.Wait()
		if got := len(o.all()); got != 1 {
			t.Errorf("%d outputs at once, want 1", got)
		}
		f.Close()
	})
}

func TestSetFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		f := NewFrame()
		calls := 0
		for range 10 {
			f.SetFunc(func() any { calls++; return calls })
		}
		time.Sleep(time.Second)
		f.SetFunc(func() any { panic("no data") })
		f.Close()
		got := o.all()
		if calls != 2 || len(got) != 3 || got[2].text() != "error: panic while drawing: no data" {
			t.Errorf("%d calls, %+v", calls, got)
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := cell(t)
		p := NewProgress(100, "trees")
		for range 100 {
			time.Sleep(81 * time.Millisecond)
			p.Add(1)
		}
		p.Done()
		p.Add(1)
		got := o.all()
		if got[0].at != firstPaint {
			t.Errorf("first seen after %v, want %v", got[0].at, firstPaint)
		}
		if want := "2/100 trees · 10.0/s · ETA 9.8 s"; got[0].text() != want {
			t.Errorf("first: got %q, want %q", got[0].text(), want)
		}
		if most := int(8100/250) + 3; len(got) > most {
			t.Errorf("%d outputs in 8.1 s, want at most %d", len(got), most)
		}
		last := got[len(got)-1]
		if want := "100/100 trees · done in 8.1 s"; last.text() != want || last.data["text/html"] != `<progress value="100" max="100"></progress> `+want {
			t.Errorf("last: got %v, want %q", last.data, want)
		}
	})
}

func TestProgressWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cell(t)
		p := NewProgress(0, "")
		if got, want := p.String(), "0"; got != want {
			t.Errorf("at once: got %q, want %q", got, want)
		}
		p.Set(123456)
		time.Sleep(time.Second)
		if got, want := p.String(), "123,456 · 123,456/s"; got != want {
			t.Errorf("without a total: got %q, want %q", got, want)
		}
		p.Done()
		q := NewProgress(10, "<b>")
		q.Set(20)
		q.Set(-3)
		q.Done()
		if got, want := q.String(), "0/20 <b> · done in 0.0 s"; got != want {
			t.Errorf("beyond the total: got %q, want %q", got, want)
		}
	})
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{400 * time.Millisecond, "0.4 s"}, {8100 * time.Millisecond, "8.1 s"}, {9960 * time.Millisecond, "10 s"},
		{59600 * time.Millisecond, "1 min 0 s"}, {125 * time.Second, "2 min 5 s"}, {3*time.Hour + 12*time.Minute, "3 h 12 min"},
	} {
		if got := duration(c.d); got != c.want {
			t.Errorf("%v: got %q, want %q", c.d, got, c.want)
		}
	}
}

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, calls := time.Now(), 0
		Every(t.Context(), time.Second, func() bool { calls++; return calls < 4 })
		if took := time.Since(start); calls != 4 || took != 3*time.Second {
			t.Errorf("stopped by fn: %d calls in %v, want 4 in 3 s", calls, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start, calls = time.Now(), 0
		Every(ctx, time.Second, func() bool { calls++; return true })
		if took := time.Since(start); calls != 3 || took != 2500*time.Millisecond {
			t.Errorf("stopped by ctx: %d calls in %v, want 3 in 2.5 s", calls, took)
		}
		Every(ctx, 0, func() bool { t.Error("called after the end"); return false })
	})
}

// Outside a cell the text is printed sparsely, and its last state always.
func TestDetached(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	synctest.Test(t, func(t *testing.T) {
		f := NewFrame()
		for i := range 120 {
			f.Set(i)
			time.Sleep(100 * time.Millisecond)
		}
		f.Close()
	})
	raw, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(raw))
	if len(lines) != 4 || lines[0] != "0" || lines[3] != "119" {
		t.Errorf("12 s printed %v, want the first, two on the way and the last", lines)
	}
}

// A function that is called again until it has seen enough.
func ExampleEvery() {
	rows := 0
	Every(context.Background(), time.Millisecond, func() bool {
		rows += 10
		return rows < 30
	})
	fmt.Println(rows)
	// Output: 30
}
