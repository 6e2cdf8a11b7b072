package kernel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cancha/internal/cellio"
)

// TestTheEndIsShownBeforeTheError has a cell print 25 MB and fail: its last lines, and what is left out, come before the error.
func TestTheEndIsShownBeforeTheError(t *testing.T) {
	b := newBench(t)
	reply, said := b.run("lines 3200000\nfail no")
	b.want("status", reply["status"], "error")
	var kinds []string
	var stdout, stderr strings.Builder
	for _, s := range said {
		kind, content, _ := strings.Cut(s, " ")
		if kind == "stream" {
			var text cellio.Stream
			if err := json.Unmarshal([]byte(content), &text); err != nil {
				t.Fatal(err)
			}
			kind += " " + text.Name
			if text.Name == "stdout" {
				stdout.WriteString(text.Text)
			} else {
				stderr.WriteString(text.Text)
			}
		}
		kinds = append(kinds, kind)
	}
	b.want("the last messages", kinds[len(kinds)-4:], "[stream stderr stream stdout error status]")
	if got := stdout.String(); len(got) > 20_000_000 || !strings.HasPrefix(got, "0\n1\n2\n") || !strings.HasSuffix(got, "3199998\n3199999\n") {
		t.Errorf("%d bytes are shown, from %.20q to %q", len(got), got, got[max(0, len(got)-20):])
	}
	var out, from, total int
	notice := stderr.String()[strings.LastIndex(stderr.String(), "\n["):]
	if _, err := fmt.Sscanf(notice, "\n[%d bytes of output are left out here, from byte %d of %d on.", &out, &from, &total); err != nil || out+stdout.Len() != total {
		t.Errorf("%q, %v: %d bytes are shown", notice, err, stdout.Len())
	}
}
