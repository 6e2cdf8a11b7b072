package engine

import (
	"context"
	"sync"

	"cancha/internal/cellio"
)

// Gate tells how much output can be taken in, as fast as front ends take it.
type Gate interface {
	// Acquire waits until output can be taken in, and reserves room for as much as it returns: at most want, and some of everything that is
	// wanted. It fails when ctx ends.
	Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error)
	// Release gives back room that was reserved.
	Release(cellio.Credit)
}

// How much an outlet may send ahead of what the sink has taken in. Room is kept for it, so it is little for the pipes, which most
// cells do not use.
func frameWindow() cellio.Credit { return cellio.Credit{Messages: 64, Bytes: 256 << 10} }
func pipeWindow() cellio.Credit  { return cellio.Credit{Messages: 16, Bytes: 32 << 10} }

// flow grants one outlet as much as the gate lets in. It knows the outlet's balance from what it has granted and what came.
type flow struct {
	gate   Gate
	window cellio.Credit
	grant  func(cellio.Credit)
	low    chan struct{} // has something when the balance may be low

	mu      sync.Mutex
	balance cellio.Credit
	over    bool // all room was given back: nothing is kept any more
}

func newFlow(gate Gate, window cellio.Credit, grant func(cellio.Credit)) *flow {
	return &flow{gate: gate, window: window, grant: grant, low: make(chan struct{}, 1)}
}

// run grants until ctx ends, and gives back then what is left.
func (f *flow) run(ctx context.Context) {
	if f.gate == nil {
		return
	}
	defer f.end()
	f.grant(cellio.Credit{}) // from now on credit is needed
	for {
		if want, owed := f.missing(); want != (cellio.Credit{}) {
			got, err := f.gate.Acquire(ctx, want)
			if err != nil {
				return
			}
			f.add(got, owed)
			f.grant(got.Add(owed))
			continue
		}
		select {
		case <-f.low:
		case <-ctx.Done():
			return
		}
	}
}

// missing is what the balance lacks of a window, where it lacks half of one, and what is owed beside: that has been taken in,
// so it needs no room.
func (f *flow) missing() (want, owed cellio.Credit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.balance.Messages >= f.window.Messages/2 && f.balance.Bytes >= f.window.Bytes/2 {
		return want, owed
	}
	has := f.balance.Floor()
	return f.window.Sub(has), has.Sub(f.balance)
}

// add takes in what was acquired and what was owed. Room stays kept for what the balance then has above zero. An interrupt may
// come when the flow is over and its process not yet gone: nobody would give back what is kept then.
func (f *flow) add(got, owed cellio.Credit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		f.gate.Release(got)
		return
	}
	before := f.balance.Floor()
	f.balance = f.balance.Add(got).Add(owed)
	f.gate.Release(got.Sub(f.balance.Floor().Sub(before)))
}

// last is what an interrupt grants: a goroutine that hangs in a write to a pipe, where nothing tells it of the interrupt, is to come out of
// it. The gate keeps room for what comes without asking.
func last() cellio.Credit { return cellio.Credit{Messages: 8, Bytes: 128 << 10} }

// letOut grants a little beyond what the gate lets in. Whether the outlet has any left is not known here: what is on its way counts as left,
// and a write may have begun that it is not enough for. It grants no more where earlier interrupts have.
func (f *flow) letOut() {
	if f.gate == nil {
		return
	}
	f.mu.Lock()
	enough := f.balance.Bytes > f.window.Bytes+last().Bytes
	f.mu.Unlock()
	if !enough {
		f.add(cellio.Credit{}, last())
		f.grant(last())
	}
}

// used tells that a frame came and has been taken in.
func (f *flow) used(frame cellio.Frame) {
	cost := frame.Cost()
	if f.gate == nil || cost == (cellio.Credit{}) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.balance.Floor()
	f.balance = f.balance.Sub(cost)
	if !f.over {
		f.gate.Release(kept.Sub(f.balance.Floor()))
	}
	select {
	case f.low <- struct{}{}:
	default:
	}
}

func (f *flow) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.gate.Release(f.balance.Floor())
}
