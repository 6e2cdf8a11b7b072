package connect

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The pace of Spark's clients (RetryPolicy: 50 ms, times 4, up to 500 ms at random from 2 s on), but for the longest wait, which is a minute there.
const (
	firstWait  = 50 * time.Millisecond
	waitFactor = 4
	longest    = 2 * time.Second
	jitter     = 500 * time.Millisecond
	jitterFrom = 2 * time.Second
)

// tries counts what has failed since something last went well.
type tries struct {
	patience time.Duration
	wait     time.Duration // before the next
	since    time.Time     // when the first failed
	silent   bool          // the server has said nothing, though it was asked
}

// well starts the count anew.
func (t *tries) well() { t.wait, t.since, t.silent = 0, time.Time{}, false }

// again waits for the next try. It returns false if there is none: the fault does not pass, patience is at its end, or ctx is.
func (t *tries) again(ctx context.Context, err error) bool {
	passes, asked := passing(err)
	silent := errors.Is(err, errSilent) // noticing it has taken half of the patience, so that a second time is the end of it
	if !passes || silent && t.silent {
		return false
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since, t.wait = now, firstWait
	}
	if silent {
		t.since, t.silent = now.Add(-t.patience/2), true
	}
	wait := max(t.wait, asked)
	if wait >= jitterFrom {
		wait += rand.N(jitter)
	}
	t.wait = min(t.wait*waitFactor, longest)
	if now.Add(wait).Sub(t.since) >= t.patience {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// passing tells whether a fault may pass, and how long the server asks to wait.
func passing(err error) (passes bool, asked time.Duration) {
	if errors.Is(err, errSilent) || errors.Is(err, errNothing) {
		return true, 0
	}
	s, ok := status.FromError(err)
	if !ok {
		return false, 0
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return true, info.GetRetryDelay().AsDuration()
		}
	}
	switch s.Code() {
	case codes.Unavailable:
		return true, 0
	case codes.Internal:
		// Another call has taken the operation over, which may be an earlier one of ours; or that one has arrived after all; or a proxy has ended the stream.
		return slices.ContainsFunc([]string{"INVALID_CURSOR.DISCONNECTED", "INVALID_HANDLE.OPERATION_ALREADY_EXISTS", "RST_STREAM"},
			func(part string) bool { return strings.Contains(s.Message(), part) }), 0
	}
	return false, 0
}
