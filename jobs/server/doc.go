// Package server shows a scheduler to people and programs, over HTTP on port 8000: what there is of jobs, queues and workers, as a page, as JSON, and for
// Prometheus. It takes submissions, and cancels and replays; it decides nothing, and keeps nothing: all of it is asked of the scheduler in this process.
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
// A POST has Content-Type application/json, with a body or without. An answer that is an error is {"error": "why"}.
//
// Who may ask: programs and browsers of this machine, under the names of its loopback. Whoever comes under another name, or through a proxy that says so in a
// header, needs the token: ?token=…, or Authorization: Bearer …. A page of another origin gets nothing. /health alone is for everybody, as the probes of
// Kubernetes have no token; it then says no more than whether all is well. See guard.go.
package server
