package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"cancha/runtime/live"
)

// Map calls a function for each item, as a job each, on all processors of this process, and returns the results in the order of the items. A bar tells how far
// it is. An item whose function fails is tried again, three times in all; then Map ends with that error, and cancels the rest. Items and results go through
// JSON.
func Map[T, R any](ctx context.Context, k *Cluster, items []T, f func(context.Context, T) (R, error)) ([]R, error) {
	name := "map." + rand.Text()
	err := k.Register(ctx, name, func(ctx context.Context, t *Task) (any, error) {
		var p struct{ Item T }
		if err := json.Unmarshal(t.Parameters, &p); err != nil {
			return nil, Final(err)
		}
		return f(ctx, p.Item)
	}, 0)
	if err != nil {
		return nil, err
	}
	specs := make([]Spec, len(items))
	for i, item := range items {
		text, err := json.Marshal(struct{ Item T }{item})
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
			for _, rest := range ids[i:] {
				if e := k.Cancel(context.WithoutCancel(ctx), rest); errors.Is(e, context.Canceled) {
					break // nobody is there any more
				}
			}
			return nil, err
		}
		all = append(all, value)
		bar.Set(i + 1)
	}
	return all, nil
}
