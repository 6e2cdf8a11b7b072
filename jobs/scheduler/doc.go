// Package scheduler takes jobs in, decides where they run, watches over them, and ends each of them once.
//
// A job goes through it like this. Its submission comes from job_queue (accept.go); it waits for its time, for other jobs, and for a worker
// (place.go); it is given to the queue of a device, or of one worker, and claimed there before it begins (claim.go); how it ends is
// reported, and it may be tried again (report.go); its result is kept and sent. Meanwhile workers fall silent and deadlines pass
// (watch.go), and attempts take too long (overdue.go).
//
// All of that is a machine of states without a clock, a disk or a broker: what happens is handed in with the time, and what is to be done
// about it comes out as effects. The loop around it (scheduler.go) takes all that has come, has it worked on, and then at once commits what
// has changed and publishes what is to be sent; only then it acknowledges. That an attempt begins is committed beside all else, before its
// worker hears that it may (begin.go). So of a crash in between, what was not acknowledged comes again, and is told by the job's id and the
// attempt's number.
//
// # When something dies
//
// A job ends once in the store, whatever dies. It runs again only where a worker, a scheduler or the broker was killed between its claim
// and the moment when its end was put down, or where its worker was silent for a lease: make jobs-chaos holds it to that. The counts tell:
// "attempts lost" begun and given up, "executed twice" of these that ended all the same and are of no account, "reports again" that a crash
// has had come twice.
//
//   - A worker is given up when it was silent for a lease; the message of what it ran comes again sooner, when its connection ends, and is
//     granted to another worker after two beats (a fifth of a lease each) without word of the first one.
//   - Of two processes under one worker id, the first goes on. The second ends with worker.ErrSameID as soon as the first is heard of once
//     more. One that is started again after a kill waits for two beats, and has the id then; where the former one was closed, it has it at
//     once.
//   - A worker that is silent may only be stopped, and hold messages that it has fetched: those that were sent before it fell silent are
//     sent again when its lease is over, and later ones when others have had their turn.
//   - A function that does not end takes a slot of its worker for as long; see package worker. One that ends its process has used up an
//     attempt: that it begins is put down first.
//   - The broker: the scheduler announces something to itself as often as workers beat. While that does not come back nobody is given up,
//     and then all have their time from the beginning. Start waits for a broker that is away, and says so each five seconds.
//   - The scheduler: the next one finds in the store whether this one was closed. If it was killed, messages may be out of which the store
//     does not know: jobs that may have been given wait for two beats for the word of who has them, and what runs or was reported of an
//     unknown job waits for its submission to come again.
//   - Several schedulers: one has the store's folder, by a lock that the system frees at its death; others wait for it (store.Await), and
//     have it within a second. One that is only stopped keeps it, and goes on later: a disk cannot refuse what it has begun to write, so
//     whoever watches over it has to kill it. Before each turn, and in each commit, the leader looks whether the folder is still its own,
//     by the file of the lock and the epoch; if it is not, it ends and sends nothing.
//
// A job that waits takes 1.0 kB of memory: a million of them a gigabyte.
package scheduler
