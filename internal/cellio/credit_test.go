package cellio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// texts is what streams in l said, all together.
func (l *log) texts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, s := range l.all() {
		body, ok := strings.CutPrefix(s, "stream 1 ")
		if !ok {
			continue
		}
		var st Stream
		if err := json.Unmarshal([]byte(body), &st); err != nil {
			t.Fatal(err)
		}
		b.WriteString(st.Text)
	}
	return b.String()
}

func TestWritersWaitForCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attached.latest.Store(nil)
		var l log
		o := NewOutlet(l.send)
		defer o.Close()
		o.Grant(Credit{Messages: 100, Bytes: 10_000})
		synctest.Wait()
		text := strings.Repeat("0123456789", 30_000)
		written := make(chan error, 1)
		go func() { written <- o.Write(1, "stdout", []byte(text)) }()
		time.Sleep(time.Hour)
		if got := len(l.texts(t)); got == 0 || got > 10_000 {
			t.Errorf("%d bytes were sent for a credit of 10,000", got)
		}
		if len(written) != 0 {
			t.Error("the writer did not wait")
		}
		for range 40 {
			o.Grant(Credit{Messages: 1, Bytes: 10_000})
			time.Sleep(time.Millisecond)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		o.Flush()
		if got := l.texts(t); got != text {
			t.Errorf("%d bytes came, not the %d written", len(got), len(text))
		}
	})
}

func TestNothingButOutputWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attached.latest.Store(nil)
		var l log
		o := NewOutlet(l.send)
		defer o.Close()
		o.Grant(Credit{})
		synctest.Wait()
		_ = o.Write(1, "stdout", []byte("held"))
		_ = o.Emit(KindDisplay, 1, Display{Transient: Transient{"d"}})
		time.Sleep(time.Hour)
		if err := o.Send(Frame{Kind: KindAnswer, Seq: 5}); err != nil {
			t.Error(err)
		}
		if got := l.all(); len(got) != 1 || !strings.HasPrefix(got[0], "answer") {
			t.Errorf("without credit: got %q, want the answer alone", got)
		}
		if err := o.Emit(KindDone, 1, nil); err != nil {
			t.Error(err)
		}
		got := l.all()
		if len(got) != 4 || !strings.Contains(got[1], "held") || !strings.HasPrefix(got[2], "display") || !strings.HasPrefix(got[3], "done") {
			t.Errorf("at the end of the cell: got %q, want all that was held, and the end", got)
		}
		o.Grant(Credit{Messages: 1, Bytes: 5000}) // two messages are owed
		time.Sleep(time.Hour)
		_ = o.Write(1, "stdout", []byte("later"))
		time.Sleep(time.Hour)
		if n := len(l.all()); n != 4 {
			t.Errorf("%d frames: what was sent beyond the credit is forgotten", n)
		}
	})
}

func TestInterruptEndsTheWait(t *testing.T) {
	for _, c := range []struct {
		name    string
		handled bool
		text    string
		want    error
	}{
		{"a cell that is interrupted", false, "line", ErrInterrupted},
		{"a cell that handles it may end its line", true, "line", nil},
		{"a cell that handles it and writes a lot", true, strings.Repeat("x", 10*heldText), ErrInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l log
				o := NewOutlet(l.send)
				Attach(o)
				defer Attach(nil)
				defer o.Close()
				o.Grant(Credit{})
				synctest.Wait()
				run := NewRun(1)
				written := make(chan error, 1)
				go run.Do(func() {
					if c.handled {
						_, stop := NotifyInterrupt(t.Context())
						defer stop()
					}
					_, _ = io.WriteString(Stdout, strings.Repeat("x", heldText))
					_, err := io.WriteString(Stdout, c.text)
					written <- err
				})
				time.Sleep(time.Hour)
				if len(written) != 0 {
					t.Fatal("the writer did not wait")
				}
				run.Interrupt()
				if err := <-written; !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestWhatAnEndingShowsDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		o := NewOutlet(l.send)
		Attach(o)
		defer Attach(nil)
		defer o.Close()
		o.Grant(Credit{})
		synctest.Wait()
		run := NewRun(1)
		run.Do(func() {
			AtEnd(func() {
				for i := range 2 * heldFrames {
					_ = Emit(KindDisplay, Display{Transient: Transient{fmt.Sprint(i)}})
				}
			})
		})
		begin := time.Now()
		run.End()
		if took := time.Since(begin); took != 0 {
			t.Errorf("the ending waited %v", took)
		}
		_ = o.Emit(KindDone, 1, nil)
		if n := len(l.all()); n != 2*heldFrames+1 {
			t.Errorf("%d frames, want all displays and the end", n)
		}
	})
}

func TestUpdatesThatWaitAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attached.latest.Store(nil)
		var l log
		o := NewOutlet(l.send)
		defer o.Close()
		o.Grant(Credit{})
		synctest.Wait()
		for i := range 10_000 {
			for _, id := range []string{"a", "b"} {
				if err := o.Emit(KindDisplay, 1, Display{Transient: Transient{id}, Update: true, Data: map[string]any{"text/plain": fmt.Sprint(i)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = o.Emit(KindDone, 1, nil)
		got := l.all()
		if len(got) != 3 || !strings.Contains(got[0], "9999") || !strings.Contains(got[1], "9999") {
			t.Errorf("got %d frames %.200q, want the last update of each and the end", len(got), got)
		}
	})
}

func TestRunesSurviveOtherOutput(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	_ = o.Write(1, "stdout", []byte("a\xe2"))
	_ = o.Emit(KindClear, 1, Clear{})
	_ = o.Write(1, "stderr", []byte("other\xf0\x9f"))
	_ = o.Write(1, "stdout", []byte("\x82\xacb"))
	_ = o.Write(1, "stderr", []byte("\x98\x80"))
	_ = o.Write(2, "stdout", []byte("cut\xe2\x82"))
	_ = o.Emit(KindDone, 1, nil)
	_ = o.Emit(KindDone, 2, nil)
	o.Close()
	var got []string
	for _, s := range l.all() {
		if strings.HasPrefix(s, "stream") {
			got = append(got, s[strings.Index(s, `"text":`)+7:len(s)-1])
		}
	}
	if want := `["a" "other" "€b" "😀" "cut" "\ufffd"]`; strings.ReplaceAll(fmt.Sprint(got), `\ufffd\ufffd`, `\ufffd`) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMuchComesInFewMessages writes 100,000 lines in four tenths of a second, and little beside.
func TestMuchComesInFewMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		o := NewOutlet(l.send)
		for i := range 400 {
			for range 250 {
				_ = o.Write(1, "stdout", fmt.Appendf(nil, "%d\n", i))
			}
			time.Sleep(time.Millisecond)
		}
		o.Flush()
		if n := len(l.all()); n > 10 {
			t.Errorf("100,000 lines are %d messages, want at most 10", n)
		}
		time.Sleep(time.Second)
		before := len(l.all())
		for range 20 { // a line every 50 ms is seen within 50 ms
			_ = o.Write(1, "stdout", []byte("x\n"))
			time.Sleep(51 * time.Millisecond)
		}
		if n := len(l.all()) - before; n < 19 {
			t.Errorf("20 single lines are %d messages: they were held back", n)
		}
		o.Close()
	})
}

func TestFitKnowsJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	alphabet := []string{"a", "\n", "\"", "\\", "<", "&", "\x00", "\x1b", "\x7f", "é", "€", "😀", "\u2028", "\xff", "\b"}
	for range 2000 {
		var text []byte
		for range random.IntN(60) {
			text = append(text, alphabet[random.IntN(len(alphabet))]...)
		}
		room := random.IntN(200)
		n := fit(text, room)
		body, err := json.Marshal(string(text[:n]))
		if err != nil {
			t.Fatal(err)
		}
		if len(body)-2 > room {
			t.Fatalf("%q takes %d bytes, more than %d", text[:n], len(body)-2, room)
		}
		if n < len(text) {
			_, size := utf8.DecodeRune(text[n:])
			more, _ := json.Marshal(string(text[:n+size]))
			if len(more)-2 <= room {
				t.Fatalf("%q stops at %d bytes though %d are free", text, len(body)-2, room)
			}
		}
	}
}
