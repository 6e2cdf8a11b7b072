// Package worker runs jobs: it takes them from the queue of its device and from its own, asks the scheduler whether each may begin, runs
// the function that is registered for the job's type, and reports how that ended. Only then the message is done; so a job whose worker dies
// comes again elsewhere.
//
// It tells the scheduler now and then what it runs and how far that is; who is silent for too long loses its jobs. A job stops, by its
// context, when it is cancelled, given to another worker, or has taken longer than it may. One that has not ended a grace later is
// abandoned: its attempt has ended, and the slot in which it goes on is lost until it returns. When all slots are lost the worker takes no
// jobs; nothing but the end of the process helps then (Restart).
package worker
