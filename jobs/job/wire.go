package job

import (
	"encoding/json"

	"cancha/jobs/placement"
)

// Queues and topics. The first four are the contract's.
const (
	QueueJobs    = "job_queue"      // submissions
	QueueCPU     = "cpu_queue"      // jobs for any worker with a CPU
	QueueGPU     = "gpu_queue"      // jobs for any worker with a GPU
	QueueResults = "result_queue"   // of jobs that say no reply_to
	QueueReports = "cancha.reports" // of workers: how attempts have ended
	QueueLost    = "cancha.lost"    // jobs that have killed their workers too often
	QueueControl = "cancha.control" // questions to the scheduler
	TopicWorkers = "cancha.workers" // beats of all workers
)

// DeviceQueue is the queue of all workers of a device.
func DeviceQueue(d placement.Device) string {
	if d == placement.GPU {
		return QueueGPU
	}
	return QueueCPU
}

// WorkerQueue is the queue of one worker, for jobs that no other can run.
func WorkerQueue(d placement.Device, worker string) string { return DeviceQueue(d) + "." + worker }

// WorkerTopic is on which a worker hears what the scheduler says to it.
func WorkerTopic(worker string) string { return "cancha.worker." + worker }

// HeaderAttempt is the header of a message to a worker that has the attempt's number, from 1.
const HeaderAttempt = "cancha-attempt"

// Beat is what a worker tells of itself, now and then and when something changes: announced, and not kept.
type Beat struct {
	Worker placement.Worker `json:"worker"` // without what runs
	// Process tells apart processes that call themselves by the same id, of which one works; "": it does not say.
	Process string `json:"process,omitempty"`
	// Echo is set in what a scheduler says to itself, to know that it hears; all else is empty then.
	Echo string `json:"echo,omitempty"`
	Host string `json:"host,omitempty"`
	// Running are the attempts that it has begun, and Claims those that it wants to begin.
	Running []Run   `json:"running,omitempty"`
	Claims  []Claim `json:"claims,omitempty"`
	// Stuck are attempts that nobody wants any more and that go on all the same, a grace after they were told to stop: each takes a slot
	// for as long as it does. Of Worker, Stuck is their number.
	Stuck []Run `json:"stuck,omitempty"`
	// Gone tells that this is the last one.
	Gone bool `json:"gone,omitempty"`
}

// Run is an attempt that goes on.
type Run struct {
	Job      string  `json:"job"`
	Attempt  int     `json:"attempt"`
	Elapsed  float64 `json:"elapsed"`            // seconds
	Progress float64 `json:"progress,omitempty"` // from 0 to 1
	Doing    string  `json:"doing,omitempty"`
}

// Claim asks whether an attempt may begin. Token is the same where it is asked again, for no answer has come, and another one for each
// message that was handed out; Count is how often that was. A worker claims nothing that it runs already, or has run since it was started.
type Claim struct {
	Job     string `json:"job"`
	Attempt int    `json:"attempt"`
	Token   string `json:"token"`
	Count   int    `json:"count"`
}

// Order is what the scheduler says to a worker about an attempt: announced, and not kept.
type Order struct {
	Process string  `json:"process,omitempty"` // whom it is for; "": whoever has the id
	Job     string  `json:"job"`
	Attempt int     `json:"attempt"`
	Verdict Verdict `json:"verdict"`
}

// Verdict is what to do with an attempt.
type Verdict string

// The verdicts.
const (
	Begin Verdict = "begin" // the claim is granted
	Drop  Verdict = "drop"  // nobody wants it any more: a claimed one does not begin, a running one stops, and its message is done
	Leave Verdict = "leave" // another process has the worker's id, and lives: this one ends. There is no job
	Later Verdict = "later" // whether it still runs elsewhere is not known yet: its message is to come again after a second
)

// Report is how an attempt has ended, in QueueReports.
type Report struct {
	Job     string           `json:"job"`
	Attempt int              `json:"attempt"`
	Worker  string           `json:"worker"`
	Device  placement.Device `json:"device"`
	Model   string           `json:"model,omitempty"`
	Started float64          `json:"started"` // Unix seconds, by the worker's clock
	Ran     float64          `json:"ran"`     // seconds
	// Cold tells that it was the first of its kind in that process, which takes longer.
	Cold   bool            `json:"cold,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"` // "": it is completed
	// Final tells that it would fail again.
	Final bool `json:"final,omitempty"`
	// Last tells that no worker is left that could try it again: its attempts are used up.
	Last bool `json:"last,omitempty"`
}
