package kernel

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/kernel/cell"
)

// subshellLimit is how many subshells there may be: a front end may want one for each widget of a notebook.
const subshellLimit = 256

// shell serves requests in their order, on a goroutine of its own. The main shell has no id.
type shell struct {
	id    string
	queue *requestQueue
	ended chan struct{} // closed when it serves no more
}

func newShell(id string) *shell {
	return &shell{id: id, queue: newRequestQueue(), ended: make(chan struct{})}
}

// shells are the main shell and the subshells (Jupyter enhancement proposal 91).
type shells struct {
	main    *shell
	workers sync.WaitGroup // of the subshells

	mu     sync.Mutex
	subs   []*shell // in the order of their creation
	closed bool
}

func newShells() *shells { return &shells{main: newShell("")} }

// find returns the shell with an id, nil where there is none.
func (s *shells) find(id string) *shell {
	if id == "" {
		return s.main
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(id); i >= 0 {
		return s.subs[i]
	}
	return nil
}

func (s *shells) index(id string) int {
	return slices.IndexFunc(s.subs, func(sub *shell) bool { return sub.id == id })
}

// create adds a subshell that work serves until the subshell is deleted or all are closed.
func (s *shells) create(work func(*shell)) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", fmt.Errorf("the kernel is shutting down")
	case len(s.subs) >= subshellLimit:
		return "", fmt.Errorf("there are %d subshells, and no more are possible: delete some", subshellLimit)
	}
	sub := newShell(rand.Text())
	s.subs = append(s.subs, sub)
	s.workers.Go(func() { work(sub) })
	return sub.id, nil
}

// remove takes a subshell out, so that nothing more reaches it, and returns it; nil where there is none by that id. What it runs
// goes on.
func (s *shells) remove(id string) *shell {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(id)
	if i < 0 {
		return nil
	}
	sub := s.subs[i]
	s.subs = slices.Delete(s.subs, i, i+1)
	sub.queue.close()
	return sub
}

// list returns the ids of the subshells.
func (s *shells) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.subs))
	for _, sub := range s.subs {
		ids = append(ids, sub.id)
	}
	return ids
}

// close lets no shell take another request.
func (s *shells) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.main.queue.close()
	for _, sub := range s.subs {
		sub.queue.close()
	}
}

// route hands a message of the shell channel to the shell that it names.
func (k *Kernel) route(r *request) {
	r.shell = k.shells.find(r.Header.Subshell)
	switch {
	case r.shell == k.shells.main:
		r.shell.queue.push(r, true)
	case r.shell == nil:
		k.refuseSubshell(r)
	case !r.shell.queue.push(r, false): // it is full, or being deleted; the other shells go on
		k.refuseSubshell(r)
	}
}

// work serves a shell's requests until its queue is closed.
func (k *Kernel) work(ctx context.Context, s *shell) {
	defer close(s.ended)
	for {
		r, ok := s.queue.pop()
		if !ok {
			return
		}
		k.serve(ctx, r)
	}
}

// unknownSubshell is the name that ipykernel gives to the error of a request for a subshell that is not there, and the text.
const unknownSubshell = "UnknownSubshellError"

func unknownSubshellText(id string) string { return "Unknown subshell_id '" + id + "'" }

// refuseSubshell answers a request for a subshell that does not exist, or no longer does, in the words of ipykernel, or for one that is
// full. The answer stands between busy and idle; a message without a reply gets these two only.
func (k *Kernel) refuseSubshell(r *request) {
	name, text := unknownSubshell, unknownSubshellText(r.Header.Subshell)
	if k.shells.find(r.Header.Subshell) != nil {
		name, text = "SubshellError", fmt.Sprintf("more than %d MB of requests wait on this subshell: send fewer at once", queueLimit>>20)
	}
	k.publish(r.RawHeader, "status", status{"busy"})
	r.meta = map[string]any{"started": time.Now().UTC().Format(time.RFC3339Nano), "status": "error"}
	k.log.Warn("request refused", "type", r.Header.Type, "subshell", r.Header.Subshell, "cause", text)
	switch {
	case r.Header.Type == "execute_request":
		e := &cell.Error{Name: name, Value: text, Traceback: []string{}}
		k.finish(r, k.executeReply(r, k.counted(), cell.Result{Status: cell.Failed, Err: e}))
	case r.Header.Type == "shutdown_request": // it means all of us
		k.finish(r, k.shutdown(r))
	case strings.HasSuffix(r.Header.Type, "_request"):
		k.finish(r, failure{"error", name, text, []string{}})
	default:
		k.finish(r, nil)
	}
}

type createSubshellReply struct {
	Status string `json:"status"`
	ID     string `json:"subshell_id"`
}

func (k *Kernel) createSubshell(ctx context.Context) any {
	id, err := k.shells.create(func(s *shell) { k.work(ctx, s) })
	if err != nil {
		return failed("SubshellError", err)
	}
	return createSubshellReply{"ok", id}
}

type subshellListReply struct {
	Status string   `json:"status"`
	IDs    []string `json:"subshell_id"` // the main shell is not among them
}

func (k *Kernel) listSubshells() any { return subshellListReply{"ok", k.shells.list()} }

// deleteSubshell takes a subshell away at once and replies when what runs there has ended: it is not interrupted, since a front end
// deletes a widget's subshell also from that widget's own callback. What waited there is refused.
func (k *Kernel) deleteSubshell(ctx context.Context, r *request) any {
	var q struct {
		ID string `json:"subshell_id"`
	}
	if err := r.decode(&q); err != nil {
		return failed("bad request", err)
	}
	sub := k.shells.remove(q.ID)
	if sub == nil {
		return failure{"error", unknownSubshell, unknownSubshellText(q.ID), []string{}}
	}
	return later(func() any {
		for _, waiting := range sub.queue.rest() {
			k.refuseSubshell(waiting)
		}
		select {
		case <-sub.ended:
			return map[string]string{"status": "ok"}
		case <-ctx.Done():
			return nil
		}
	})
}
