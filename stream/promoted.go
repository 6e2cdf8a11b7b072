package stream

import "context"

// The methods of a run stand here once for each kind: an interpreted cell cannot call what is promoted from an unexported
// embedded struct, because reflection does not allow it.

// Active reports whether the query has not ended yet.
func (r *Running) Active() bool { return r.run.Active() }

// BadRecords tells how many records were bad, why, and shows the newest.
func (r *Running) BadRecords() *BadRecords { return r.run.BadRecords() }

// Err returns why the query ended: nil while it runs, and when it ended in order.
func (r *Running) Err() error { return r.run.Err() }

// MIMEBundle shows what the query does and did.
func (r *Running) MIMEBundle() map[string]any { return r.run.MIMEBundle() }

// Progress returns the newest progress report; before the first second has passed, one with nothing done.
func (r *Running) Progress() Progress { return r.run.Progress() }

// Recent returns the newest progress reports, at most 100, the oldest of them first.
func (r *Running) Recent() History { return r.run.Recent() }

// Status tells what the query is doing now; while its broker is away, why and when it tries again.
func (r *Running) Status() Status { return r.run.Status() }

// Stop ends the query in order: it stops reading, gives out what is left, and waits for that. It returns Err, or ctx's error
// if ctx ends first; the query then ends by itself. Stopping twice is no error.
func (r *Running) Stop(ctx context.Context) error { return r.run.Stop(ctx) }

// String is what the query does and did, as aligned text.
func (r *Running) String() string { return r.run.String() }

// Totals tells what the query did from its start to the newest progress report, or to its end.
func (r *Running) Totals() Totals { return r.run.Totals() }

// Wait waits until the query has ended and returns Err, or until ctx ends and returns its error; the query then goes on.
func (r *Running) Wait(ctx context.Context) error { return r.run.Wait(ctx) }

// Active reports whether the query has not ended yet.
func (r *RunningScore) Active() bool { return r.run.Active() }

// BadRecords tells how many records were bad, why, and shows the newest.
func (r *RunningScore) BadRecords() *BadRecords { return r.run.BadRecords() }

// Err returns why the query ended: nil while it runs, and when it ended in order.
func (r *RunningScore) Err() error { return r.run.Err() }

// MIMEBundle shows what the query does and did.
func (r *RunningScore) MIMEBundle() map[string]any { return r.run.MIMEBundle() }

// Progress returns the newest progress report; before the first second has passed, one with nothing done.
func (r *RunningScore) Progress() Progress { return r.run.Progress() }

// Recent returns the newest progress reports, at most 100, the oldest of them first.
func (r *RunningScore) Recent() History { return r.run.Recent() }

// Status tells what the query is doing now; while its broker is away, why and when it tries again.
func (r *RunningScore) Status() Status { return r.run.Status() }

// Stop ends the query in order: it stops reading, gives out what is left, and waits for that. It returns Err, or ctx's error
// if ctx ends first; the query then ends by itself. Stopping twice is no error.
func (r *RunningScore) Stop(ctx context.Context) error { return r.run.Stop(ctx) }

// String is what the query does and did, as aligned text.
func (r *RunningScore) String() string { return r.run.String() }

// Totals tells what the query did from its start to the newest progress report, or to its end.
func (r *RunningScore) Totals() Totals { return r.run.Totals() }

// Wait waits until the query has ended and returns Err, or until ctx ends and returns its error; the query then goes on.
func (r *RunningScore) Wait(ctx context.Context) error { return r.run.Wait(ctx) }
