// Package scheduler takes jobs in, decides where they run, watches over them, and ends each of them once.
//
// A job goes through it like this. Its submission comes from job_queue (accept.go); it waits for its time, for other jobs, and for a worker
// (place.go); it is given to the queue of a device, or of one worker, and claimed there before it begins (claim.go); how it ends is reported, and
// it may be tried again (report.go); its result is kept and sent. Meanwhile workers fall silent and deadlines pass (watch.go).
//
// All of that is a machine of states without a clock, a disk or a broker: what happens is handed in with the time, and what is to be done about it comes out
// as effects. The loop around it (scheduler.go) takes all that has come, has it worked on, and then at once commits what has changed and publishes what is to be
// sent; only then it acknowledges. So of a crash in between, what was not acknowledged comes again, and is told by the job's id and the attempt's number.
package scheduler
