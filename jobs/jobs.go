package jobs

import (
	"encoding/json"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// What a job is, and on what it runs: see packages job and placement.
type (
	Device = placement.Device
	Spec   = job.Spec
	Job    = job.Job
	State  = job.State
	// Query says which jobs Cluster.Jobs lists.
	Query = store.Query
	// Worker is a worker as the scheduler knows it.
	Worker = scheduler.Worker
	// Endings are jobs that have ended, as Cluster.Endings returns them, and Ending is one of them.
	Endings = scheduler.Endings
	Ending  = scheduler.Ending
	// Task is one attempt at a job, as a function that runs it sees it, and Func such a function.
	Task = worker.Task
	Func = worker.Func
)

// The types that every worker runs.
const (
	MatrixMultiply  = job.MatrixMultiply
	NeuralNetwork   = job.NeuralNetwork
	VectorAddition  = job.VectorAddition
	ImageProcessing = job.ImageProcessing
)

// Devices of Spec.Device, which is an order.
const (
	CPU = placement.CPU
	GPU = placement.GPU
)

// ErrUnknown tells that there is no such job, or not any more.
var ErrUnknown = store.ErrUnknown

// Final makes of a Func's error one that would come again: the job is not tried again.
func Final(err error) error { return worker.Final(err) }

// Call makes a Func of a Go function: func([context.Context] [, argument]) ([result] [, error]). See worker.Call.
func Call(f any) (Func, error) { return worker.Call(f) }

// Parameters are those of a job, by name.
type Parameters map[string]any

// JSON is how a Spec has them. A value that JSON does not know (a function, NaN) makes it nil, which Submit refuses.
func (p Parameters) JSON() json.RawMessage {
	text, err := json.Marshal(p)
	if err != nil {
		return json.RawMessage("!" + err.Error()) // no JSON, so that it is refused with the reason
	}
	return text
}
