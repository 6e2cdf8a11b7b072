package eval

import (
	"fmt"
	"sync"

	"cancha/internal/cellio"
)

// mostUnread is how many errors a cell's notes tell of: a loop may leave more.
const mostUnread = 10

// unread writes the notes about errors that variables have been set to and that nothing looks at: each once a cell.
type unread struct {
	off func() bool

	mu   sync.Mutex
	run  *cellio.Run // that the notes so far are of
	seen map[string]bool
}

func (u *unread) tell(name, text string) {
	if u.off() {
		return
	}
	note := fmt.Sprintf("note: %s was set and not looked at: %s\n", name, text)
	switch n := u.add(note); {
	case n == 0:
		return
	case n == mostUnread:
		note = "note: more errors were set and not looked at\n"
	}
	_, _ = cellio.Stderr.Write([]byte(note))
}

// add returns how many notes the cell that runs has made with this one, 0 where it has made it before.
func (u *unread) add(note string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if run := cellio.CurrentRun(); run != u.run || u.seen == nil {
		u.run, u.seen = run, map[string]bool{}
	}
	if u.seen[note] || len(u.seen) == mostUnread {
		return 0
	}
	u.seen[note] = true
	return len(u.seen)
}
