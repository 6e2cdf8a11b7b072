package job

import "slices"

// State is where a job is on its way.
type State string

// The states. A job is queued, assigned to a worker, running there, and then one of the others, for good: but a dead one can be replayed.
const (
	Queued    State = "queued"    // it waits: for a worker, for its time, for other jobs, or to be tried again
	Assigned  State = "assigned"  // a worker has it and has not begun
	Running   State = "running"   //
	Completed State = "completed" // there is a result
	Failed    State = "failed"    // it cannot be done, and trying again is of no use: bad parameters, a passed deadline
	Cancelled State = "cancelled" // somebody did
	Dead      State = "dead"      // it failed, or killed its worker, as often as it may
)

// States lists them, in the order of a job's way.
func States() []State { return []State{Queued, Assigned, Running, Completed, Failed, Cancelled, Dead} }

// Ended tells whether nothing more happens to a job by itself.
func (s State) Ended() bool {
	return s == Completed || s == Failed || s == Cancelled || s == Dead
}

// Known tells whether it is one of the states.
func (s State) Known() bool { return slices.Contains(States(), s) }

// Becomes tells whether a job may go from a state to another. From Assigned and Running it goes back to Queued where it was taken back, its
// worker was lost, or it is tried again; from Queued to where it ends where its deadline passes, a job that it waits for did not complete,
// the last attempt's worker was lost, or another job of its key has ended so.
func (s State) Becomes(next State) bool {
	switch s {
	case Queued:
		return next == Assigned || next.Ended()
	case Assigned:
		return next != Assigned && next.Known()
	case Running:
		return next == Queued || next.Ended()
	case Dead:
		return next == Queued
	}
	return false
}
