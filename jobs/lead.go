package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"cancha/jobs/local"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
)

// lead is the scheduler that this process has, or may have.
type lead struct {
	mu        sync.Mutex
	scheduler *scheduler.Scheduler // nil: another process has it
	taken     chan struct{}        // closed when it is there
	why       error                // at the beginning, another one had it; nil: none had
}

func (l *lead) take(s *scheduler.Scheduler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scheduler = s
	close(l.taken)
}

func (l *lead) get() *scheduler.Scheduler {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scheduler
}

// Scheduler is the one that this process has; nil: another process has it, for now.
func (k *Cluster) Scheduler() *scheduler.Scheduler { return k.lead.get() }

// Standby is why this process did not become the scheduler at once: scheduler.ErrLed, where one of another folder has the broker's jobs, or
// local.ErrHeld or store.ErrHeld, where another process has the folder. It is nil where it became that, or was not asked to be it.
func (k *Cluster) Standby() error { return k.lead.why }

// Lead returns the scheduler of this process when it has one: where another process has it, when that has ended.
func (k *Cluster) Lead(ctx context.Context) (*scheduler.Scheduler, error) {
	select {
	case <-k.lead.taken:
		return k.lead.get(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// standing is how often a process looks whether it can take the place of another one, which nobody tells of its end.
const standing = 500 * time.Millisecond

// standBy has an heir take the place of the process that has what this one would have, when that has gone. What of this process uses the
// other one's goes on with the heir's, by the same ways as with any other process.
func (k *Cluster) standBy(take func(heir *Cluster, ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	var heir *Cluster
	waiting.Go(func() { heir = k.inherit(ctx, take) })
	k.closers = append(k.closers, func() error {
		cancel()
		waiting.Wait()
		if heir == nil {
			return nil
		}
		return heir.Close()
	})
}

// inherit returns the heir, or nil where the context has ended before there was one.
func (k *Cluster) inherit(ctx context.Context, take func(heir *Cluster, ctx context.Context) error) *Cluster {
	for {
		heir := newCluster(k.config)
		heir.heir = true
		err := take(heir, ctx)
		if err == nil {
			k.lead.take(heir.Scheduler())
			return heir
		}
		if err := errors.Join(err, heir.Close()); k.config.Logger != nil && !held(err) && ctx.Err() == nil {
			k.config.Logger.Warn("jobs: the place of another process could not be taken; it is tried again", slog.Any("error", err))
		}
		select {
		case <-time.After(standing):
		case <-ctx.Done():
			return nil
		}
	}
}

func held(err error) bool {
	return errors.Is(err, local.ErrHeld) || errors.Is(err, store.ErrHeld) || errors.Is(err, scheduler.ErrLed)
}
