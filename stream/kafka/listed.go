package kafka

import "cancha/internal/running"

// listed is a producer as the list of what runs knows it.
type listed struct{ p *Producer }

// Kind implements running.Thing.
func (l listed) Kind() running.Kind { return running.Producer }

// Name implements running.Thing.
func (l listed) Name() string { return l.p.cfg.Topic }

// Sent implements running.Sender.
func (l listed) Sent() running.Sent {
	s := running.Sent{Topic: l.p.cfg.Topic, Acknowledged: l.p.Acked(), Waiting: int64(len(l.p.slots)), Capacity: int64(cap(l.p.slots))}
	if err := l.p.failed.Load(); err != nil {
		s.Error = (*err).Error()
	}
	return s
}

// Last implements running.Laster.
func (l listed) Last() running.Thing { return sent{l.Sent()} }

// sent is what stays listed of a producer that is closed.
type sent struct{ last running.Sent }

// Kind implements running.Thing.
func (s sent) Kind() running.Kind { return running.Producer }

// Name implements running.Thing.
func (s sent) Name() string { return s.last.Topic }

// Sent implements running.Sender.
func (s sent) Sent() running.Sent { return s.last }
