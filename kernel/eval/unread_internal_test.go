//go:build !workspace

package eval

import (
	"fmt"
	"testing"

	"cancha/internal/cellio"
)

// TestUnreadNotesOfRunsBesideEachOther: each run has its own bound, and nothing is kept of one that has ended.
func TestUnreadNotesOfRunsBesideEachOther(t *testing.T) {
	var u unread
	a, b := cellio.NewRun(1), cellio.NewRun(2)
	told := 0
	for i := range 3 * mostUnread {
		for _, run := range []*cellio.Run{a, b} {
			if u.add(run, fmt.Sprint("note ", i)) > 0 {
				told++
			}
		}
	}
	if told != 2*mostUnread {
		t.Errorf("got %d notes of two runs, want %d", told, 2*mostUnread)
	}
	u.forget(a)
	u.forget(b)
	if len(u.seen) != 0 {
		t.Errorf("notes of %d runs are kept", len(u.seen))
	}
}
