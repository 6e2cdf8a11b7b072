package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"cancha/jobs/worker"
	"cancha/runtime/live"
)

// calls are the functions of the calls of Map that go on, by number. They share one type of jobs, so that schedulers do not meet a new one
// for each call.
type calls struct {
	mu    sync.Mutex
	name  string // of the type; "": no worker has it yet
	next  int
	funcs map[int]func(context.Context, json.RawMessage) (any, error)
}

// mapped is what a job of Map is asked for.
type mapped struct {
	Call int
	Item json.RawMessage
}

// add has jobs call a function, and tells their type and the call's number. The first call starts a worker.
func (m *calls) add(ctx context.Context, k *Cluster, f func(context.Context, json.RawMessage) (any, error)) (name string, call int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.name == "" {
		name := "map." + rand.Text()
		if err := k.Register(ctx, name, m.run, 0); err != nil {
			return "", 0, err
		}
		m.name, m.funcs = name, map[int]func(context.Context, json.RawMessage) (any, error){}
	}
	m.next++
	m.funcs[m.next] = f
	return m.name, m.next, nil
}

// keep starts another worker when no slot is left of the one there is, until a call ends: functions of a call before it may go on, and no
// other process runs this type.
func (m *calls) keep(ctx context.Context, k *Cluster) {
	for {
		w := k.worker(m.name)
		if w == nil {
			return
		}
		select {
		case <-w.Stuck():
		case <-ctx.Done():
			return
		}
		if !m.replace(ctx, k, w) {
			return
		}
	}
}

// replace puts another worker into the place of one, unless another call has; false: the cluster is closed, or the call ends.
func (m *calls) replace(ctx context.Context, k *Cluster, old *worker.Worker) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return k.worker(m.name) != old || k.Register(ctx, m.name, m.run, 0) == nil
}

func (m *calls) remove(call int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.funcs, call)
}

// run is the function of the jobs.
func (m *calls) run(ctx context.Context, t *Task) (any, error) {
	var p mapped
	if err := json.Unmarshal(t.Parameters, &p); err != nil {
		return nil, Final(err)
	}
	m.mu.Lock()
	f := m.funcs[p.Call]
	m.mu.Unlock()
	if f == nil {
		return nil, Final(errors.New("the call of Map that has submitted it has ended"))
	}
	return f(ctx, p.Item)
}

// Map calls a function for each item, as a job each, on all processors of this process, and returns the results in the order of the items.
// A bar tells how far it is. An item whose function fails is tried again, three times in all; then Map ends with that error, and cancels
// the rest. Items and results go through JSON.
func Map[T, R any](ctx context.Context, k *Cluster, items []T, f func(context.Context, T) (R, error)) ([]R, error) {
	name, call, err := k.maps.add(ctx, k, func(ctx context.Context, text json.RawMessage) (any, error) {
		var item T
		if err := json.Unmarshal(text, &item); err != nil {
			return nil, Final(err)
		}
		return f(ctx, item)
	})
	if err != nil {
		return nil, err
	}
	defer k.maps.remove(call)
	keeping, stop := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { k.maps.keep(keeping, k) })
	defer keeper.Wait()
	defer stop()
	specs := make([]Spec, len(items))
	for i, item := range items {
		text, err := json.Marshal(item)
		if err == nil {
			text, err = json.Marshal(mapped{call, text})
		}
		if err != nil {
			return nil, fmt.Errorf("jobs: map: item %d: %w", i, err)
		}
		specs[i] = Spec{Type: name, Parameters: text}
	}
	ids, err := k.Submit(ctx, specs...)
	if err != nil {
		return nil, err
	}
	return collect[R](ctx, k, ids)
}

// collect waits for results in their order.
func collect[R any](ctx context.Context, k *Cluster, ids []string) (all []R, err error) {
	bar := live.NewProgress(len(ids), "jobs")
	defer bar.Done()
	for i, id := range ids {
		var value R
		r, err := k.Wait(ctx, id)
		if err == nil {
			err = r.Decode(&value)
		}
		if err != nil {
			k.cancelAll(context.WithoutCancel(ctx), ids[i:])
			return nil, err
		}
		all = append(all, value)
		bar.Set(i + 1)
	}
	return all, nil
}

// cancelAll cancels jobs, many at a time: one after the other each waits for a commit of its own. Those that have ended, nobody can cancel.
func (k *Cluster) cancelAll(ctx context.Context, ids []string) {
	cancelling := errgroup.Group{}
	cancelling.SetLimit(together)
	for _, id := range ids {
		if k.answers.over() {
			break // nobody is there any more
		}
		cancelling.Go(func() error {
			_ = k.Cancel(ctx, id)
			return nil
		})
	}
	_ = cancelling.Wait()
}
