package placement

import "math"

// Job is a job that has not begun.
type Job struct {
	ID string
	// Type is the job's own, by which workers say what they run; [Work.Type] may tell kinds of it apart.
	Type string
	Work Work
	// Device is an order; "": any.
	Device Device
	// PreferGPU is a wish, the contract's prefer_gpu.
	PreferGPU bool
	// Priority is from 0 to 9, 9 first.
	Priority int
	// Waited is for how many seconds the job could have run and has not.
	Waited float64
	// Worker is to whom it was given, where it has not begun; "": it is with the scheduler.
	Worker string
}

// effective is the priority that a job has by now, up to 9.
func (j Job) effective(ageing float64) float64 {
	return min(float64(j.Priority)+max(j.Waited, 0)/ageing, mostPriority)
}

const mostPriority = 9

// invalid tells that no worker runs it: its numbers are none.
func (j Job) invalid() bool { return j.Work.Validate() != nil || math.IsNaN(j.Waited) }
