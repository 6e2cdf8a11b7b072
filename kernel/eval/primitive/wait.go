package primitive

import (
	"fmt"
	"sync"
	"time"
)

// The waits of package sync, which an interrupt ends. Each tries first; only one that has to wait costs a goroutine.

// Lock is the method Lock of a sync.Mutex or sync.RWMutex.
func (m *Machine) Lock(l any) {
	switch l := l.(type) {
	case *sync.Mutex:
		if !l.TryLock() {
			m.acquire(l.Lock, l.Unlock)
		}
	case *sync.RWMutex:
		if !l.TryLock() {
			m.acquire(l.Lock, l.Unlock)
		}
	default:
		panic(fmt.Sprintf("lock of a %T", l))
	}
}

// RLock is the method RLock of a sync.RWMutex.
func (m *Machine) RLock(l *sync.RWMutex) {
	if !l.TryRLock() {
		m.acquire(l.RLock, l.RUnlock)
	}
}

// acquire waits for a lock. After an interrupt the lock is given back as soon as it comes.
func (m *Machine) acquire(lock, unlock func()) {
	got := make(chan struct{})
	interrupted := m.wait(func() { lock(); close(got) }, got)
	if interrupted != nil {
		go func() { <-got; unlock() }()
		panic(interrupted)
	}
}

// WaitGroupWait is the method Wait of a sync.WaitGroup.
func (m *Machine) WaitGroupWait(wg *sync.WaitGroup) {
	w := m.groups.enter(wg)
	defer m.groups.leave(wg, w)
	if interrupted := m.wait(func() { m.groups.wait(wg, w) }, w.over); interrupted != nil {
		panic(interrupted)
	}
}

// CondWait is the method Wait of a sync.Cond. After an interrupt its lock is held, as after any wait, so that the caller may release it.
func (m *Machine) CondWait(c *sync.Cond) {
	over := make(chan struct{})
	if interrupted := m.wait(func() { c.Wait(); close(over) }, over); interrupted != nil {
		again := time.NewTicker(time.Millisecond) // while somebody else holds the lock
		defer again.Stop()
		for {
			c.Broadcast()
			select {
			case <-over:
				panic(interrupted)
			case <-again.C:
			}
		}
	}
}

// wait runs f on a goroutine of its own until over is closed and returns the panic to raise where an interrupt came first.
func (m *Machine) wait(f func(), over <-chan struct{}) any {
	go f()
	select {
	case <-over:
		return nil
	case <-m.done():
		if mayTear() {
			return interrupted{}
		}
		<-over
		return nil
	}
}
