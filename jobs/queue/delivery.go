package queue

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Delivery is a message handed out, until it is settled: once, by Ack, Retry or Dead. A call that fails with another error than ErrSettled
// and ErrLost may be made again.
type Delivery struct {
	Message
	Queue   string
	Count   int    // how often the message has been handed out, this time included: 1 is the first
	Death   *Death // of a dead letter; nil: it is none
	Settler Settler
}

// Death tells what became of a message that is a dead letter.
type Death struct {
	Queue  string    // where it was
	Reason string    // ReasonLimit, or what Dead was told
	Count  int       // how often it had been handed out; or Unknown
	At     time.Time // when; whole seconds, at least
}

// ReasonLimit is the reason of a message that Spec.MaxDeliveries has made a dead letter.
const ReasonLimit = "delivery limit"

// MaxReason is how much of a reason is kept, in bytes.
const MaxReason = 1024

// Settler is the broker's side of a delivery.
type Settler interface {
	// Settle does what Outcome says, and returns when the broker has it. It returns ErrSettled and ErrLost as they are defined.
	Settle(ctx context.Context, o Outcome) error
}

// Outcome is what is to become of a delivery.
type Outcome struct {
	Verdict Verdict
	After   time.Duration // of Retry, 0 to MaxDelay
	Reason  string        // of Dead, UTF-8 of MaxReason bytes at most
}

// Verdict is one of three ways to settle a delivery.
type Verdict int

// The verdicts.
const (
	Ack Verdict = iota
	Retry
	Dead
)

// Ack tells the broker that the message is done.
func (d *Delivery) Ack(ctx context.Context) error {
	return d.Settler.Settle(ctx, Outcome{Verdict: Ack})
}

// Retry has the message come again after a time from 0 to MaxDelay, or go to the dead letters where it has been handed out as often as its
// queue allows.
func (d *Delivery) Retry(ctx context.Context, after time.Duration) error {
	if after < 0 || after > MaxDelay {
		return fmt.Errorf("%w: Retry after %v, want 0 to %v", ErrInvalid, after, MaxDelay)
	}
	return d.Settler.Settle(ctx, Outcome{Verdict: Retry, After: after})
}

// Dead sends the message to the dead letters of its queue, with a reason, of which MaxReason bytes are kept. A dead letter stays one, with
// the new reason.
func (d *Delivery) Dead(ctx context.Context, reason string) error {
	reason = strings.ToValidUTF8(reason, "�")
	if len(reason) > MaxReason {
		reason = strings.ToValidUTF8(reason[:MaxReason], "")
	}
	return d.Settler.Settle(ctx, Outcome{Verdict: Dead, Reason: reason})
}
