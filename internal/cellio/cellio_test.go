package cellio

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	x, y := net.Pipe()
	a, b = NewConn(x), NewConn(y)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestFramesArriveAsSent(t *testing.T) {
	for name, want := range map[string]Frame{
		"bare":    {Kind: KindExit},
		"body":    {Kind: KindStream, Cell: 7, Body: json.RawMessage(`{"name":"stdout","text":"é"}`)},
		"large":   {Kind: KindDisplay, Body: json.RawMessage(`{}`), Buffers: [][]byte{bytes.Repeat([]byte("x"), eagerFrame+1)}},
		"buffers": {Kind: KindDisplay, Seq: 1 << 60, Body: json.RawMessage(`{}`), Buffers: [][]byte{{0, 1}, {}, bytes.Repeat([]byte("x"), 1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			go func() { _ = a.Send(want) }()
			got, err := b.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != want.Kind || got.Cell != want.Cell || got.Seq != want.Seq || string(got.Body) != string(want.Body) || len(got.Buffers) != len(want.Buffers) {
				t.Fatalf("got %+v, want %+v", got, want)
			}
			for i := range got.Buffers {
				if !bytes.Equal(got.Buffers[i], want.Buffers[i]) {
					t.Errorf("buffer %d differs", i)
				}
			}
		})
	}
}

func TestReceiveRefusesWhatIsNoFrame(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		want error
	}{
		{"end between frames", "", io.EOF},
		{"end inside a frame", "\x00\x00\x00\x10abc", io.ErrUnexpectedEOF},
		{"length beyond the maximum", "\xff\xff\xff\xffabc", ErrFrame},
		{"header longer than the frame", "\x00\x00\x00\x06\x00\x00\x00\x09{}", ErrFrame},
		{"header that is no JSON", "\x00\x00\x00\x06\x00\x00\x00\x02{]", ErrFrame},
		{"sizes beyond the frame", frameOf(`{"kind":"x","sizes":[9]}`, ""), ErrFrame},
		{"negative size", frameOf(`{"kind":"x","sizes":[-1]}`, ""), ErrFrame},
		{"bytes too many", frameOf(`{"kind":"x","sizes":[1]}`, "ab"), ErrFrame},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := NewConn(rwc{strings.NewReader(c.in)})
			if _, err := conn.Receive(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func frameOf(head, rest string) string {
	n := 4 + len(head) + len(rest)
	return string([]byte{0, 0, 0, byte(n), 0, 0, 0, byte(len(head))}) + head + rest
}

type rwc struct{ io.Reader }

func (rwc) Write(p []byte) (int, error) { return len(p), nil }
func (rwc) Close() error                { return nil }

func FuzzReceive(f *testing.F) {
	f.Add([]byte(frameOf(`{"kind":"x","sizes":[1,1]}`, "ab")))
	f.Add([]byte(frameOf(`{"kind":"stream","cell":7,"sizes":[33]}`, `{"name":"stdout","text":"a line"}`) + frameOf(`{"kind":"exit","sizes":[0]}`, "")))
	f.Add([]byte("\x0f\xff\xff\xff\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		conn := NewConn(rwc{bytes.NewReader(in)})
		for {
			if _, err := conn.Receive(); err != nil {
				return
			}
		}
	})
}

// log records what an outlet sends.
type log struct {
	mu  sync.Mutex
	got []string
}

func (l *log) send(f Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, fmt.Sprintf("%s %d %s", f.Kind, f.Cell, f.Body))
	return nil
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.got...)
}

func TestOutletKeepsTheOrder(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	defer o.Close()
	o.Write(1, "stdout", []byte("a"))
	o.Write(1, "stdout", []byte("b"))
	o.Write(1, "stderr", []byte("c"))
	if err := o.Emit(KindClear, 1, Clear{}); err != nil {
		t.Fatal(err)
	}
	o.Write(2, "stdout", []byte("d"))
	o.Flush()
	want := []string{
		`stream 1 {"name":"stdout","text":"ab"}`, `stream 1 {"name":"stderr","text":"c"}`,
		`clear 1 {"wait":false}`, `stream 2 {"name":"stdout","text":"d"}`,
	}
	if got := l.all(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutletFlushesByItself(t *testing.T) {
	arrived := make(chan string, 8)
	o := NewOutlet(func(f Frame) error { arrived <- string(f.Body); return nil })
	defer o.Close()
	begin := time.Now()
	o.Write(1, "stdout", []byte("no newline"))
	if got := <-arrived; !strings.Contains(got, "no newline") {
		t.Errorf("got %q", got)
	}
	if d := time.Since(begin); d < flushAfter/2 || d > 20*flushAfter {
		t.Errorf("after %v, want about %v", d, flushAfter)
	}
	o.Write(1, "stdout", bytes.Repeat([]byte("x"), flushSize))
	if got := <-arrived; len(got) < flushSize {
		t.Errorf("a full buffer was held back: got %d bytes", len(got))
	}
}

func TestOutletNeverBreaksARune(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	text := strings.Repeat("é€😀", 3000)
	for i := 0; i < len(text); i += 5 {
		o.Write(1, "stdout", []byte(text[i:min(i+5, len(text))]))
	}
	o.Close()
	var got strings.Builder
	for _, s := range l.all() {
		var st Stream
		if err := json.Unmarshal([]byte(strings.TrimPrefix(s, "stream 1 ")), &st); err != nil {
			t.Fatal(err)
		}
		got.WriteString(st.Text)
	}
	if got.String() != text {
		t.Errorf("got %d bytes that differ from the %d written", got.Len(), len(text))
	}
}

func TestGoroutinesBelongToTheirRun(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	Attach(o)
	defer Attach(nil)
	goOn, done := make(chan bool), make(chan bool)
	first := NewRun(1)
	first.Do(func() {
		go func() {
			go func() { // a goroutine's goroutine, after its cell has ended
				<-goOn
				io.WriteString(Stdout, "late")
				close(done)
			}()
		}()
	})
	NewRun(2).Do(func() {
		io.WriteString(Stdout, "second")
		close(goOn)
		<-done
	})
	o.Close()
	if got := strings.Join(l.all(), ""); !strings.Contains(got, `stream 1 {"name":"stdout","text":"late"}`) || !strings.Contains(got, `stream 2 {"name":"stdout","text":"second"}`) {
		t.Errorf("got %q", got)
	}
	if r := runOf(first); r != 1 {
		t.Errorf("cell of the first run: got %d", r)
	}
}

func runOf(r *Run) (cell int64) {
	r.Do(func() {
		c := make(chan int64)
		go func() { c <- CurrentRun().Cell }()
		cell = <-c
	})
	return cell
}

func TestInterruptHandled(t *testing.T) {
	r := NewRun(3)
	r.Do(func() {
		ctx, stop := NotifyInterrupt(context.Background())
		defer stop()
		if !r.Interrupt() {
			t.Error("an interrupt with a handler was not handled")
		}
		if context.Cause(ctx) != ErrInterrupted {
			t.Errorf("cause: got %v", context.Cause(ctx))
		}
		if r.Context().Err() != nil {
			t.Error("the run's own context ended")
		}
		if r.Interrupt() {
			t.Error("the second interrupt was handled by nobody")
		}
		if context.Cause(r.Context()) != ErrInterrupted {
			t.Errorf("cause: got %v", context.Cause(r.Context()))
		}
	})
}

func TestStoppedHandlerGivesTheInterruptBack(t *testing.T) {
	r := NewRun(4)
	r.Do(func() {
		_, stop := NotifyInterrupt(context.Background())
		stop()
		if r.Interrupt() {
			t.Error("a stopped handler took the interrupt")
		}
	})
}

// TestHandlersEndInAnyOrder: who stops listening takes nobody else's interrupt away.
func TestHandlersEndInAnyOrder(t *testing.T) {
	r := NewRun(4)
	r.Do(func() {
		_, first := NotifyInterrupt(context.Background())
		ctx, second := NotifyInterrupt(context.Background())
		defer second()
		first()
		if !r.Interrupt() || context.Cause(ctx) != ErrInterrupted {
			t.Errorf("the interrupt did not reach who still listens: %v", context.Cause(ctx))
		}
	})
}

// TestRunsAreForgotten: what the labels of goroutines that have ended meant takes no memory.
func TestRunsAreForgotten(t *testing.T) {
	count := func() (n int) {
		attached.runs.Range(func(any, any) bool { n++; return true })
		return n
	}
	for i := range 1000 {
		NewAside(int64(i)).Do(func() {})
	}
	for limit := time.Now().Add(10 * time.Second); count() > 100; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d of 1000 runs are remembered", count())
		}
		runtime.GC()
	}
}

// TestAside: what belongs to no run stays with the latest cell, whatever handlers run.
func TestAside(t *testing.T) {
	cell, aside := NewRun(5), NewAside(6)
	aside.Do(func() {
		if got := CurrentRun(); got != aside {
			t.Errorf("in the handler: got the run of %d", got.Cell)
		}
	})
	if got := CurrentRun(); got != cell {
		t.Errorf("outside: got the run of %d, want 5", got.Cell)
	}
}

func TestTakeComm(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	Attach(o)
	defer Attach(nil)
	defer attached.comms.Store(attached.comms.Swap(nil))
	NewAside(7).Do(func() {
		for _, f := range []Frame{{Kind: KindCommOpen, Body: json.RawMessage(`{"comm_id":"x","target_name":"y"}`)}, {Kind: KindCommMsg, Body: json.RawMessage(`{"comm_id":"x"}`)}} {
			if err := TakeComm(f); err != nil {
				t.Error(err)
			}
		}
		if err := TakeComm(Frame{Kind: KindCommOpen, Body: json.RawMessage(`[`)}); err == nil {
			t.Error("a body that is no comm was accepted")
		}
		if got, want := l.all(), []string{`comm_close 7 {"comm_id":"x"}`}; !reflect.DeepEqual(got, want) {
			t.Errorf("nobody knows of comms: got %q, want %q", got, want)
		}
		OnComm(func(f Frame) { _ = Emit(KindClear, f.Seq) })
		if err := TakeComm(Frame{Kind: KindCommMsg, Seq: 9}); err != nil {
			t.Error(err)
		}
		if got := l.all(); got[len(got)-1] != "clear 7 9" {
			t.Errorf("got %q", got)
		}
	})
}

func TestResident(t *testing.T) {
	type thing struct{ n int }
	made := 0
	for range 2 {
		if got := Resident(func() *thing { made++; return &thing{made} }); got.n != 1 {
			t.Errorf("got %d, want the first one", got.n)
		}
	}
}

// encoded joins the pieces of a body.
func encoded(body any) ([]byte, error) {
	first, more, err := encode(body)
	return slices.Concat(first, bytes.Join(more, nil)), err
}

// A display's body means what encoding/json makes of it.
func TestDisplayIsEncodedAsJSON(t *testing.T) {
	for name, d := range map[string]Display{
		"empty": {},
		"texts": {Data: map[string]any{"text/markdown": "a\"b\\c\n\t\r\x00\x1f\x7f", "text/html": "<b>&é€😀\u2028\ufffd</b>", "text/x": ""}, Metadata: map[string]any{}},
		"bytes": {Data: map[string]any{"text/plain": "\xff a\xc3 \xe2\x82"}, Metadata: map[string]any{"a": map[string]any{"b": 1}}},
		"large": {Data: map[string]any{"text/plain": strings.Repeat("a", largePiece) + "\n" + strings.Repeat("<\"b\">", largePiece) + strings.Repeat("é", largePiece), "text/html": strings.Repeat("c", 2*largePiece)}},
		"other": {Data: map[string]any{"application/json": json.RawMessage(`{"a":[1]}`), "n": 3.5, "image/png": []byte{1, 2}}, Transient: Transient{"i<d"}, Update: true},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := encoded(d)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var g, w any
			if err := errors.Join(json.Unmarshal(raw, &g), json.Unmarshal(want, &w)); err != nil {
				t.Fatalf("%v in %s", err, raw)
			}
			for _, name := range []string{"data", "metadata"} {
				if fields := w.(map[string]any); fields[name] == nil {
					fields[name] = map[string]any{}
				}
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("got %s, want %s", raw, want)
			}
		})
	}
	if _, err := encoded(Display{Data: map[string]any{"application/json": func() {}}}); err == nil {
		t.Error("a function was encoded")
	}
}

// plainWord tells of eight bytes what plain tells of each, whatever stands beside the one that is not.
func TestPlainWord(t *testing.T) {
	for b := range 256 {
		for place := range 8 {
			for _, beside := range []byte{' ', '!', '#', '[', ']', 'a', 0x7f} {
				word := bytes.Repeat([]byte{beside}, 8)
				word[place] = byte(b)
				if got, want := plainWord(binary.LittleEndian.Uint64(word)), plain(byte(b)); got != want {
					t.Errorf("%q: got %v, want %v", word, got, want)
				}
			}
		}
	}
}

func BenchmarkDisplay(b *testing.B) {
	d := Display{Data: map[string]any{"text/html": strings.Repeat("<td>12.5</td>", 1<<20)}}
	b.SetBytes(13 << 20)
	for b.Loop() {
		if _, _, err := encode(d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite prints lines, on an outlet alone, on one that looks each time whether anything was written past it, and past it.
func BenchmarkWrite(b *testing.B) {
	line := []byte("a line of output\n")
	for _, c := range []struct {
		name        string
		catch, past bool
	}{{"outlet alone", false, false}, {"outlet that catches", true, false}, {"past the outlet", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			o := NewOutlet(func(Frame) error { return nil })
			defer o.Close()
			var to io.Writer = writerFunc(func(p []byte) (int, error) { return len(p), o.Write(1, "stdout", p) })
			if c.catch {
				stdout, _ := catchPast(b, o)
				if c.past {
					to = stdout
				}
			}
			for b.Loop() {
				if _, err := to.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
