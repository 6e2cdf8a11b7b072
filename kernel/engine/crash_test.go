package engine

import (
	"strings"
	"testing"
	"time"
)

// TestWordsLikeACrash: what an engine that lives has written is shown while its cell runs, and is not what a later exit is put down to.
func TestWordsLikeACrash(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	result := execute(t, e, 1, "likehang")
	until(t, "the words", func() bool { return rec.get(1, "stderr") == "panic: only words\n" })
	e.Interrupt()
	<-result
	r := run(t, e, 2, "likeexit")
	if r.Err == nil || !strings.Contains(r.Err.Value, "exit status 3") || rec.get(2, "stderr") != "panic: only words\n" {
		t.Errorf("got %+v, error output %q", r.Err, rec.get(2, "stderr"))
	}
}

// TestLongCrash: a trace is the cell's error and no output of it, though it is long.
func TestLongCrash(t *testing.T) {
	e, rec := newTestEngine(t, "yes")
	r := run(t, e, 1, "manypanic")
	if r.Err == nil || !strings.Contains(r.Err.Value, "boom") || rec.get(1, "stderr") != "" {
		t.Errorf("got %+v, error output of %d bytes", r.Err, len(rec.get(1, "stderr")))
	}
}

// TestCrashPassesOn follows what is held and what is passed on, by a clock of its own.
func TestCrashPassesOn(t *testing.T) {
	const header, stack = "panic: boom\n", "\ngoroutine 7 [running]:\nmain.f()\n"
	const overflow = "runtime: goroutine stack exceeds 1000000000-byte limit\nruntime: sp=0x1 stack=[0x1, 0x2]\nfatal error: stack overflow\n"
	long := strings.Repeat("main.g()\n", crashLimit/9)
	type step struct {
		after time.Duration
		text  string // "": nothing has come
		want  string // is passed on
	}
	for _, test := range []struct {
		name  string
		steps []step
		cause string // the beginning of what is kept
	}{
		{"ordinary", []step{{0, "a\n", "a\n"}, {time.Hour, "", ""}}, ""},
		{"a crash", []step{{0, "a\n" + header, "a\n"}, {1, stack, ""}}, header + stack},
		{"in parts", []step{{0, "panic: ", ""}, {1, "boom\n\ngorou", ""}, {1, "tine 7 [", ""}, {crashTime - 1, "running]:\n", ""}, {1, "x", ""}}, "panic: boom\n\ngoroutine 7 [running]:\nx"},
		{"words, then nothing", []step{{0, header, ""}, {crashTime - 1, "", ""}, {1, "", header}, {1, "b\n", "b\n"}}, ""},
		{"words, then others", []step{{0, header, ""}, {crashTime - 1, "b\n", ""}, {1, "c\n", header + "b\nc\n"}, {1, "d\n", "d\n"}}, header},
		{"words, then others, then nothing", []step{{0, header, ""}, {crashTime, "b\n", header + "b\n"}, {crashTime, "", ""}}, ""},
		{"a stack, then nothing", []step{{0, header + stack, ""}, {crashTime, "", header + stack}}, ""},
		{"a stack that is full", []step{{0, overflow + stack, ""}, {overflowTime - 1, "...1,000,000 frames elided...\n", ""}, {overflowTime - 1, "", ""}}, overflow + stack + "...1,000,000"},
		{"words of a stack that is full", []step{{0, overflow + stack, ""}, {overflowTime, "", overflow + stack}}, ""},
		{"too much", []step{{0, header + stack, ""}, {1, long, header + stack + long}, {1, "b\n", "b\n"}}, header + stack},
		{"words, then a crash", []step{{0, header, ""}, {crashTime, "b\n", header + "b\n"}, {1, "fatal error: odd\n", ""}}, "fatal error: odd\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c crash
			now := time.Now()
			for i, s := range test.steps {
				now = now.Add(s.after)
				got := c.quiet(now)
				if s.text != "" {
					got = append(got, c.filter([]byte(s.text), now)...)
				}
				if string(got) != s.want {
					t.Errorf("step %d: got %.60q, want %.60q", i, got, s.want)
				}
			}
			if got := string(c.cause()); !strings.HasPrefix(got, test.cause) || test.cause == "" && got != "" {
				t.Errorf("kept %.60q, want %.60q", got, test.cause)
			}
		})
	}
}
