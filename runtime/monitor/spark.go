package monitor

import (
	"os"
	"strconv"
	"time"

	"cancha/internal/running"
)

// The forms below are those of Spark's REST API (org.apache.spark.status.api.v1), with the fields that mean something here. What is ours stands
// beside them, in fields of other names.

// date is a time as Spark's JSON has it.
type date time.Time

// MarshalJSON writes 2006-01-02T15:04:05.000GMT.
func (d date) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Time(d).UTC().Format("2006-01-02T15:04:05.000")+"GMT"), nil
}

// dateOf is nil for the zero time, which JSON leaves out.
func dateOf(t time.Time) *date {
	if t.IsZero() {
		return nil
	}
	d := date(t)
	return &d
}

type application struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Attempts []attempt `json:"attempts"`
}

type attempt struct {
	StartTime        date   `json:"startTime"`
	EndTime          date   `json:"endTime"`
	LastUpdated      date   `json:"lastUpdated"`
	Duration         int64  `json:"duration"`
	User             string `json:"sparkUser"`
	Completed        bool   `json:"completed"`
	Version          string `json:"appSparkVersion"`
	StartTimeEpoch   int64  `json:"startTimeEpoch"`
	EndTimeEpoch     int64  `json:"endTimeEpoch"`
	LastUpdatedEpoch int64  `json:"lastUpdatedEpoch"`
}

func newApplication(c Config, begun time.Time) application {
	return application{ID: "local-" + strconv.FormatInt(begun.UnixMilli(), 10), Name: c.Name, Attempts: []attempt{{
		StartTime: date(begun), EndTime: date(time.UnixMilli(-1)), User: os.Getenv("USER"), Version: c.Version,
		StartTimeEpoch: begun.UnixMilli(), EndTimeEpoch: -1,
	}}}
}

// now is the application with the time that has passed.
func (a application) now(t time.Time) application {
	is := a.Attempts[0]
	is.LastUpdated, is.LastUpdatedEpoch, is.Duration = date(t), t.UnixMilli(), t.UnixMilli()-is.StartTimeEpoch
	a.Attempts = []attempt{is}
	return a
}

// job is a fit, a load or an export; it has one stage, of the same number.
type job struct {
	JobID               int64          `json:"jobId"`
	Name                string         `json:"name"`
	Description         string         `json:"description"`
	SubmissionTime      *date          `json:"submissionTime,omitempty"`
	CompletionTime      *date          `json:"completionTime,omitempty"`
	StageIDs            []int64        `json:"stageIds"`
	JobGroup            string         `json:"jobGroup"` // the kind
	Status              running.State  `json:"status"`
	NumTasks            int64          `json:"numTasks"` // trees, matches, batches; 0: unknown
	NumActiveTasks      int64          `json:"numActiveTasks"`
	NumCompletedTasks   int64          `json:"numCompletedTasks"`
	NumSkippedTasks     int64          `json:"numSkippedTasks"`
	NumFailedTasks      int64          `json:"numFailedTasks"`
	NumKilledTasks      int64          `json:"numKilledTasks"`
	NumCompletedIndices int64          `json:"numCompletedIndices"`
	NumActiveStages     int            `json:"numActiveStages"`
	NumCompletedStages  int            `json:"numCompletedStages"`
	NumSkippedStages    int            `json:"numSkippedStages"`
	NumFailedStages     int            `json:"numFailedStages"`
	KilledTasksSummary  map[string]int `json:"killedTasksSummary"`
	Unit                string         `json:"unit"`     // of tasks
	Duration            int64          `json:"duration"` // milliseconds
	Rows                int64          `json:"rows"`
	Bytes               int64          `json:"bytes"`
	Error               string         `json:"error,omitempty"`
}

func jobOf(i item) job {
	state, ended, err := i.Outcome()
	j := job{
		JobID: i.ID, Name: i.Name, Description: string(i.Kind) + ": " + i.Name, SubmissionTime: dateOf(i.Started), CompletionTime: dateOf(ended),
		StageIDs: []int64{i.ID}, JobGroup: string(i.Kind), Status: state, NumTasks: max(i.Work.Total, i.Work.Done), NumCompletedTasks: i.Work.Done,
		NumCompletedIndices: i.Work.Done, KilledTasksSummary: map[string]int{}, Unit: i.Work.Unit, Duration: i.Elapsed().Milliseconds(),
		Rows: i.Work.Rows, Bytes: i.Work.Bytes,
	}
	switch j.Status {
	case running.Running:
		j.NumActiveTasks, j.NumActiveStages = min(1, j.NumTasks-j.NumCompletedTasks), 1
	case running.Succeeded:
		j.NumCompletedStages = 1
	default:
		j.NumFailedTasks, j.NumFailedStages, j.Error = 1, 1, err.Error()
	}
	return j
}

type stage struct {
	Status              string         `json:"status"`
	StageID             int64          `json:"stageId"`
	AttemptID           int            `json:"attemptId"`
	NumTasks            int64          `json:"numTasks"`
	NumActiveTasks      int64          `json:"numActiveTasks"`
	NumCompleteTasks    int64          `json:"numCompleteTasks"`
	NumFailedTasks      int64          `json:"numFailedTasks"`
	NumKilledTasks      int64          `json:"numKilledTasks"`
	NumCompletedIndices int64          `json:"numCompletedIndices"`
	SubmissionTime      *date          `json:"submissionTime,omitempty"`
	FirstTaskLaunched   *date          `json:"firstTaskLaunchedTime,omitempty"`
	CompletionTime      *date          `json:"completionTime,omitempty"`
	FailureReason       string         `json:"failureReason,omitempty"`
	ExecutorRunTime     int64          `json:"executorRunTime"`
	InputBytes          int64          `json:"inputBytes"`
	InputRecords        int64          `json:"inputRecords"`
	OutputBytes         int64          `json:"outputBytes"`
	OutputRecords       int64          `json:"outputRecords"`
	Name                string         `json:"name"`
	Description         string         `json:"description"`
	Details             string         `json:"details"`
	SchedulingPool      string         `json:"schedulingPool"`
	RDDIDs              []int          `json:"rddIds"`
	AccumulatorUpdates  []any          `json:"accumulatorUpdates"`
	KilledTasksSummary  map[string]int `json:"killedTasksSummary"`
}

func stageOf(i item) stage {
	j := jobOf(i)
	s := stage{
		Status:  map[running.State]string{running.Running: "ACTIVE", running.Succeeded: "COMPLETE", running.Failed: "FAILED"}[j.Status],
		StageID: i.ID, NumTasks: j.NumTasks, NumActiveTasks: j.NumActiveTasks, NumCompleteTasks: j.NumCompletedTasks, NumFailedTasks: j.NumFailedTasks,
		NumCompletedIndices: j.NumCompletedIndices, SubmissionTime: j.SubmissionTime, FirstTaskLaunched: j.SubmissionTime, CompletionTime: j.CompletionTime,
		FailureReason: j.Error, ExecutorRunTime: j.Duration, InputBytes: j.Bytes, InputRecords: j.Rows, Name: i.Name, Description: j.Description,
		Details: string(i.Kind), SchedulingPool: "default", RDDIDs: []int{}, AccumulatorUpdates: []any{}, KilledTasksSummary: map[string]int{},
	}
	if i.Kind == running.Export {
		s.InputBytes, s.InputRecords, s.OutputBytes, s.OutputRecords = 0, 0, j.Bytes, j.Rows
	}
	return s
}

// executor is this process: there is one, as with Spark's master "local".
type executor struct {
	ID                string              `json:"id"`
	HostPort          string              `json:"hostPort"`
	IsActive          bool                `json:"isActive"`
	RDDBlocks         int                 `json:"rddBlocks"`
	MemoryUsed        int64               `json:"memoryUsed"`
	DiskUsed          int64               `json:"diskUsed"`
	TotalCores        int                 `json:"totalCores"`
	MaxTasks          int                 `json:"maxTasks"`
	ActiveTasks       int                 `json:"activeTasks"`
	FailedTasks       int64               `json:"failedTasks"`
	CompletedTasks    int64               `json:"completedTasks"`
	TotalTasks        int64               `json:"totalTasks"`
	TotalDuration     int64               `json:"totalDuration"`
	TotalGCTime       int64               `json:"totalGCTime"` // milliseconds of processor time
	TotalInputBytes   int64               `json:"totalInputBytes"`
	TotalShuffleRead  int64               `json:"totalShuffleRead"`
	TotalShuffleWrite int64               `json:"totalShuffleWrite"`
	IsBlacklisted     bool                `json:"isBlacklisted"`
	IsExcluded        bool                `json:"isExcluded"`
	MaxMemory         int64               `json:"maxMemory"`
	AddTime           date                `json:"addTime"`
	ExecutorLogs      map[string]string   `json:"executorLogs"`
	Attributes        map[string]string   `json:"attributes"`
	Resources         map[string]resource `json:"resources"`
	Machine           machine             `json:"machine"`
	GPUs              []gpu               `json:"gpuSessions"`
	Producers         []producer          `json:"producers"`
}

type resource struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}

// gpu is a session on a GPU, or on the CPU for want of one.
type gpu struct {
	ID       int64         `json:"id"`
	Name     string        `json:"name"`
	State    running.State `json:"state"`
	Duration int64         `json:"duration"`
	running.DeviceState
}

type producer struct {
	ID       int64         `json:"id"`
	State    running.State `json:"state"`
	Duration int64         `json:"duration"`
	running.Sent
}

// batch is an epoch of a query in the words of the API of the older streaming; the query stands beside them.
type batch struct {
	BatchID               int64  `json:"batchId"`
	BatchTime             string `json:"batchTime"`
	Status                string `json:"status"`
	BatchDuration         int64  `json:"batchDuration"`
	InputSize             int64  `json:"inputSize"`
	SchedulingDelay       int64  `json:"schedulingDelay"`
	ProcessingTime        int64  `json:"processingTime"`
	TotalDelay            int64  `json:"totalDelay"`
	NumActiveOutputOps    int    `json:"numActiveOutputOps"`
	NumCompletedOutputOps int    `json:"numCompletedOutputOps"`
	NumFailedOutputOps    int    `json:"numFailedOutputOps"`
	NumTotalOutputOps     int    `json:"numTotalOutputOps"`
	Query                 string `json:"query"`
	QueryID               int64  `json:"queryId"`
}

// statistics sums up all queries that run.
type statistics struct {
	StartTime                date    `json:"startTime"`
	BatchDuration            int64   `json:"batchDuration"`
	NumReceivers             int     `json:"numReceivers"` // sources
	NumActiveReceivers       int     `json:"numActiveReceivers"`
	NumInactiveReceivers     int     `json:"numInactiveReceivers"`
	NumTotalCompletedBatches int64   `json:"numTotalCompletedBatches"`
	NumRetainedCompleted     int64   `json:"numRetainedCompletedBatches"`
	NumActiveBatches         int64   `json:"numActiveBatches"`
	NumProcessedRecords      int64   `json:"numProcessedRecords"`
	NumReceivedRecords       int64   `json:"numReceivedRecords"`
	AvgInputRate             float64 `json:"avgInputRate"`
	AvgSchedulingDelay       int64   `json:"avgSchedulingDelay"`
	AvgProcessingTime        int64   `json:"avgProcessingTime"`
	AvgTotalDelay            int64   `json:"avgTotalDelay"`
}

type receiver struct {
	StreamID     int64   `json:"streamId"`
	StreamName   string  `json:"streamName"`
	IsActive     bool    `json:"isActive"`
	ExecutorID   string  `json:"executorId"`
	AvgEventRate float64 `json:"avgEventRate"`
	Query        string  `json:"query"`
}

type environment struct {
	Runtime           map[string]string `json:"runtime"`
	SparkProperties   [][2]string       `json:"sparkProperties"`
	HadoopProperties  [][2]string       `json:"hadoopProperties"`
	SystemProperties  [][2]string       `json:"systemProperties"`
	MetricsProperties [][2]string       `json:"metricsProperties"`
	ClasspathEntries  [][2]string       `json:"classpathEntries"` // modules of the program
	ResourceProfiles  []any             `json:"resourceProfiles"`
	Origins           map[string]string `json:"origins"` // where each of the settings comes from
}

type execution struct {
	ID              int64       `json:"id"`
	Status          string      `json:"status"`
	Description     string      `json:"description"`
	PlanDescription string      `json:"planDescription"`
	SubmissionTime  date        `json:"submissionTime"`
	Duration        int64       `json:"duration"`
	RunningJobIDs   []int64     `json:"runningJobIds"`
	SuccessJobIDs   []int64     `json:"successJobIds"`
	FailedJobIDs    []int64     `json:"failedJobIds"`
	Nodes           []sparkNode `json:"nodes"`
	Edges           []sparkEdge `json:"edges"`
	Late            bool        `json:"isBusy"` // as of a query: before its first answer there are no nodes
	HeldUp          int64       `json:"heldUp"`
	HeldEpoch       int64       `json:"heldEpoch"`
}

type sparkNode struct {
	NodeID   int           `json:"nodeId"`
	NodeName string        `json:"nodeName"`
	Metrics  []sparkMetric `json:"metrics"`
	Kind     string        `json:"kind"`
	Detail   string        `json:"detail"`
}

type sparkMetric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type sparkEdge struct {
	FromID int   `json:"fromId"`
	ToID   int   `json:"toId"`
	Rows   int64 `json:"rows"` // -1: nobody counts them
}
