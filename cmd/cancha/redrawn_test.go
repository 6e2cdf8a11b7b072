//go:build !windows

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRedrawn: of a line that is drawn over again, a file has what it was now and then, and what it was last; all else is as it was written.
func TestRedrawn(t *testing.T) {
	for _, c := range []struct {
		name string
		text []string // with a second between them
		want string
	}{
		{"plain", []string{"a\nb", "c\n", "Name: "}, "a\nbc\nName: "},
		{"a line that ends", []string{"\rfinding x", "\rbuilding x: 1 s", "\radded x       \n"}, "finding x\nadded x\n"},
		{"behind a line", []string{"note: n\n\rfinding", "\rmore   \n", "end\n"}, "note: n\nfinding\nmore\nend\n"},
		{"behind a piece of a line", []string{"half", "\rwhole\n"}, "half\nwhole\n"},
		{"in pieces", []string{"\r1", "0 %", "\r2", "0 %\n"}, "10 %\n20 %\n"},
		{"ends as in a file of Windows", []string{"a\r\n", "b\r\n"}, "a\nb\n"},
		{"never ended", []string{"\r10 %", "\r20 %"}, "10 %\n20 %\n"},
		{"blank", []string{"\r\r\r   \rdone\n"}, "done\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			r := newRedrawn(&out)
			for _, text := range c.text {
				if n, err := r.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("%s: got %d, %v", c.name, n, err)
				}
				time.Sleep(time.Second)
			}
			r.end()
			if got := out.String(); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		})
	}
}

// TestRedrawnForLong: a minute of a line that is drawn twice a second is a line each ten seconds.
func TestRedrawnForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := newRedrawn(&out)
		for range 120 {
			_, _ = r.Write([]byte("\rabout 30 s left"))
			time.Sleep(time.Second / 2)
		}
		_, _ = r.Write([]byte("\radded x        \n"))
		if n := strings.Count(out.String(), "\n"); n < 6 || n > 8 {
			t.Errorf("got %d lines, want one each ten seconds, and the last:\n%s", n, &out)
		}
	})
}
