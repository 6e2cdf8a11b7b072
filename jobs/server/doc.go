// Package server shows a scheduler to people and programs, over HTTP on port 8000: what there is of jobs, queues and workers, as a page, as
// JSON, and for Prometheus. It takes submissions, and cancels and replays; it decides nothing, and keeps nothing: all of it is asked of the
// scheduler in this process.
//
//	GET  /                   the page
//	GET  /health             200 while jobs go on, 503 and why where they do not
//	GET  /metrics            for Prometheus
//	GET  /jobs               the last jobs; ?state=queued,running&type=…&worker=…&limit=100&skip=0
//	POST /jobs               submits a job: a JSON object as package job has it
//	GET  /jobs/{id}          all that is known of one, with its parameters and its result
//	POST /jobs/{id}/cancel   ends one that has not ended
//	POST /jobs/{id}/replay   tries a dead one again
//	GET  /queues             how many messages each has
//	GET  /workers            who they are, and what they run
//	GET  /stats              counts, what was measured, and what waits for each device in predicted seconds
//	GET  /events             what happens to jobs, as server-sent events, which go on where Last-Event-ID says; ?after=7, ?after=-50: the last fifty
//
// A POST has Content-Type application/json, with a body or without. HEAD is answered where GET is. An answer that is an error is {"error": "why"}:
//
//	400  a body that is no job, or a filter that there is not, and why
//	403  who asks may not; see below
//	404  there is no such job, or its time is over; or no such address
//	405  GET and POST are known, and not everywhere
//	409  a job that has ended cannot be cancelled, and one that is not dead cannot be replayed; the job_id or key of a submission is another job's, of another type or other parameters
//	413  a body of more than 2.16 MB
//	415  a POST without Content-Type application/json
//	503  nothing goes on at the moment, or 64 streams of events are open
//
// A submission is answered 202 with job_id, job_type, and Location when it is durable in job_queue, which is before the scheduler has seen
// it: until then, which takes milliseconds, /jobs/{id} is 404. One that is submitted again, with the same type and parameters, is answered
// 202, too, and is the same job. A type that is almost one that all workers run is refused with 400, and the name that was meant.
//
// # Fields
//
// Times are Unix seconds and durations seconds; what is 0, empty or unknown is missing, unless it is a count. A job has job_id, job_type,
// state (queued, assigned, running, completed, failed, cancelled, dead), status (that of an ended one, as in its result), reason (why it is
// where it is), predicted (seconds by device), progress (0 to 1), doing, eta, error, priority, device_ordered (the "device" of the
// submission), prefer_gpu, worker_id, worker_type, device (the model, as in results), attempt (the number of the one that counts), attempts
// (how many have begun), max_attempts, submitted_at, assigned_at, started_at, completed_at, again_at (before when it is not tried again),
// not_before, deadline, timeout, queue_time, execution_time, processing_time (the same), key, same_as (the job before it of the same key),
// after, reply_to, result_ttl, can (cancel, replay); one that is asked for by its id also parameters, result, and unknown: the fields of
// its submission that are not of the contract. A list is {"jobs": […], "more": whether there may be others behind them}.
//
// A worker has worker_id, worker_type, device, host, state (ready, starting, stuck, draining, silent), memory (bytes), job_types (missing:
// any), slots, ready_in, heard_at, silent (since so many seconds), running, stuck (what nobody wants any more and does not end: each takes
// a slot, so that some or all of the slots run nothing else), rates (as [placement.Rates] has them). A queue has name, what (is in it),
// ready, delayed, in_hand, consumers, or an error.
//
// Stats have open and events (jobs by state: that have not ended, and that have come into it since the store was made), counted (what else
// happened), demand (by device: jobs, seconds, unserved), trouble, and kinds: by job_type and worker_type what ended since the scheduler
// began, mean_wait, mean_run, prediction_factor (1.2: 20 % off, usually) and prediction_bias (above 1: runs take longer). The types of
// jobs.Map, of which each call has one, are one type there, "map", as they are for Prometheus.
//
// An event has number, at, job_id, job_type, state, worker_id and text (the reason, or the error); one that is called missed has missed,
// how many are gone.
//
// # Who may ask
//
// Whoever has the token: ?token=…, or Authorization: Bearer …, also on this machine, since each of its accounts reaches loopback. "cancha
// scheduler" takes it from CANCHA_JOBS_TOKEN, or keeps one in the file token of its folder, which its user alone can read. A page of
// another origin gets nothing. /health alone is for everybody, as the probes of Kubernetes have no token; it then says no more than whether
// all is well: ok, stuck (200: jobs go on, but slots of workers are lost to jobs that do not end), or trouble (503). See guard.go, and
// internal/webpage.
package server
