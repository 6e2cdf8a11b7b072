package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"cancha/internal/cellio"
)

// comms are the open comms: id → target. Who has opened one does not matter: both sides may close it.
type comms struct {
	mu   sync.Mutex
	open map[string]string
}

func newComms() *comms { return &comms{open: map[string]string{}} }

// add enters a comm. It reports false for one that is open already.
func (c *comms) add(id, target string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.open[id]; taken {
		return false
	}
	c.open[id] = target
	return true
}

func (c *comms) has(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.open[id]
	return ok
}

// remove takes a comm out. It reports false for one that is not open.
func (c *comms) remove(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.open[id]
	delete(c.open, id)
	return ok
}

// clear takes all comms out and returns their ids.
func (c *comms) clear() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.Sorted(maps.Keys(c.open))
	clear(c.open)
	return ids
}

type commTarget struct {
	Target string `json:"target_name"`
}

type commInfoReply struct {
	Status string                `json:"status"`
	Comms  map[string]commTarget `json:"comms"`
}

// commInfo lists the open comms, or those of one target.
func (k *Kernel) commInfo(r *request) any {
	var q struct {
		Target *string `json:"target_name"`
	}
	if err := r.decode(&q); err != nil {
		return failed("bad request", err)
	}
	reply := commInfoReply{"ok", map[string]commTarget{}}
	k.comms.mu.Lock()
	defer k.comms.mu.Unlock()
	for id, target := range k.comms.open {
		if q.Target == nil || *q.Target == target {
			reply.Comms[id] = commTarget{target}
		}
	}
	return reply
}

// commMessage hands comm_open, comm_msg or comm_close to the engine and returns when the handler has ended there: what that
// prints, its error and what it sends have the message as their parent. There is no reply. It may be called from any goroutine.
func (k *Kernel) commMessage(ctx context.Context, r *request) any {
	var c cellio.Comm
	if err := r.decode(&c); err != nil {
		k.log.Warn("comm", "error", err)
		return nil
	}
	if err := k.enterComm(r.Header.Type, c); err != nil {
		k.log.Debug("message of a comm ignored", "type", r.Header.Type, "comm", c.ID, "error", err)
		return nil
	}
	c.Metadata, c.Message = r.Metadata, r.Header.ID
	body, err := asItIs(c)
	if err != nil {
		k.log.Error("comm", "error", err)
		return nil
	}
	id := k.cells.begin(cellInfo{parent: r.RawHeader, aside: true})
	result, err := k.engine.Comm(ctx, cellio.Frame{Kind: cellio.Kind(r.Header.Type), Cell: id, Body: body, Buffers: r.Buffers})
	k.endCell(r, id, &result)
	if err != nil {
		k.log.Warn("comm", "comm", c.ID, "error", err)
		k.closeComm(r.RawHeader, c.ID)
	}
	return nil
}

// Why a message of a comm is not handed on.
var (
	errNoCommID    = errors.New("it names no comm")
	errCommTaken   = errors.New("that comm is open already")
	errCommUnknown = errors.New("no such comm is open")
)

// enterComm keeps the list of open comms.
func (k *Kernel) enterComm(msgType string, c cellio.Comm) error {
	switch {
	case c.ID == "":
		return errNoCommID
	case msgType == "comm_open" && !k.comms.add(c.ID, c.Target):
		return errCommTaken
	case msgType == "comm_msg" && !k.comms.has(c.ID), msgType == "comm_close" && !k.comms.remove(c.ID):
		return errCommUnknown
	}
	return nil
}

type commContent struct {
	ID     string          `json:"comm_id"`
	Target string          `json:"target_name,omitempty"` // of comm_open
	Data   json.RawMessage `json:"data"`
}

// commOutput publishes a comm's message from the engine: an engine closes the comm of a target that it does not know.
func (k *Kernel) commOutput(c cellInfo, f cellio.Frame) error {
	var m cellio.Comm
	if err := json.Unmarshal(f.Body, &m); err != nil {
		return err
	}
	switch f.Kind {
	case cellio.KindCommOpen:
		k.comms.add(m.ID, m.Target)
	case cellio.KindCommClose:
		if !k.comms.remove(m.ID) {
			return nil // by the other side, which knows
		}
	}
	k.publishComm(c.parent, string(f.Kind), m, f.Buffers)
	return nil
}

func (k *Kernel) publishComm(parent json.RawMessage, msgType string, c cellio.Comm, buffers [][]byte) {
	content, err := asItIs(commContent{ID: c.ID, Target: c.Target, Data: object(c.Data)})
	if err != nil {
		k.log.Error("comm", "error", err)
		return
	}
	k.publishWith(parent, object(c.Metadata), msgType, content, buffers...)
}

// asItIs encodes v without writing < > and & in six bytes each: the data of a comm may be large, and are nobody's page.
func asItIs(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// closeComm tells the clients that a comm is no more, if it was open.
func (k *Kernel) closeComm(parent json.RawMessage, id string) {
	if k.comms.remove(id) {
		k.publishComm(parent, "comm_close", cellio.Comm{ID: id}, nil)
	}
}

// EngineEnded reports that an engine process has ended and that all its output has been handed over. Its comms have ended with it, and the
// front ends are told. While the kernel shuts down they are not: whoever asked for that knows.
func (k *Kernel) EngineEnded() {
	select {
	case <-k.quit:
		return
	default:
	}
	c, _ := k.cells.of(0)
	for _, id := range k.comms.clear() {
		k.publishComm(c.parent, "comm_close", cellio.Comm{ID: id}, nil)
	}
}
