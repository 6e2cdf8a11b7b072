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
	seen map[*cellio.Run]map[string]bool // notes of the runs that have not ended: cells on subshells run beside each other
}

func (u *unread) tell(name, text string) {
	if u.off() {
		return
	}
	note := fmt.Sprintf("note: %s was set and not looked at: %s\n", name, cellio.Plain(text))
	switch n := u.add(cellio.CurrentRun(), note); {
	case n == 0:
		return
	case n == mostUnread:
		note = "note: more errors were set and not looked at\n"
	}
	_, _ = cellio.Stderr.Write([]byte(note))
}

// add returns how many notes a run has made with this one, 0 where it has made it before.
func (u *unread) add(run *cellio.Run, note string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := u.seen[run]
	if seen[note] || len(seen) == mostUnread {
		return 0
	}
	if u.seen == nil {
		u.seen = map[*cellio.Run]map[string]bool{}
	}
	if seen == nil {
		seen = map[string]bool{}
		u.seen[run] = seen
	}
	seen[note] = true
	return len(seen)
}

// forget drops the notes of a run that has ended.
func (u *unread) forget(run *cellio.Run) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.seen, run)
}
