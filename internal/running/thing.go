package running

import (
	"context"
	"time"
)

// Kind is what sort of thing runs.
type Kind string

// The kinds of things.
const (
	Query    Kind = "query"
	Fit      Kind = "fit"
	Load     Kind = "load"
	Export   Kind = "export"
	GPU      Kind = "gpu session"
	Producer Kind = "producer"
)

// Thing is what is listed. Its methods, and those of the interfaces below, may be called at any time, after its end too.
type Thing interface {
	Kind() Kind
	Name() string // in its user's words: any text, markup included
}

// Stopper can be ended in order. Stop waits until it has ended, or for ctx, whose error it then returns.
type Stopper interface {
	Stop(ctx context.Context) error
}

// Drainer can be ended once it has read what there is. Drain waits as Stop does.
type Drainer interface {
	Drain(ctx context.Context) error
}

// Laster gives what stays listed after the end: the last numbers, without the memory that the thing has held.
type Laster interface {
	Last() Thing
}

// Streamer is a query of a stream.
type Streamer interface {
	Status() string       // what it does now, a sentence
	Progress() Progress   // the newest report
	Totals() Totals       // since its start
	Notes() []string      // sentences that its user should read
	Sources() []Partition // how far each partition has come, by source, topic and number
	// Recent returns the newest reports whose BatchID is greater than after, the oldest of them first; -1 asks for all that are kept.
	Recent(after int64) []Progress
}

// Progress is a report of about a second. Its JSON has the names of Spark's StreamingQueryProgress, and so have the parts of it.
type Progress struct {
	ID                     string             `json:"id"`
	RunID                  string             `json:"runId"`
	Name                   string             `json:"name"`
	Timestamp              string             `json:"timestamp"` // the report's begin, RFC 3339
	BatchID                int64              `json:"batchId"`
	BatchDuration          int64              `json:"batchDuration"` // milliseconds spent on records
	NumInputRows           int64              `json:"numInputRows"`
	InputRowsPerSecond     float64            `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64            `json:"processedRowsPerSecond"`
	DurationMs             map[string]int64   `json:"durationMs"`
	EventTime              map[string]string  `json:"eventTime"` // RFC 3339; absent where unknown
	StateOperators         []StateOperator    `json:"stateOperators"`
	Sources                []SourceProgress   `json:"sources"`
	Sink                   SinkProgress       `json:"sink"`
	ObservedMetrics        map[string]float64 `json:"observedMetrics,omitempty"`
}

// StateOperator tells what an operator with memory keeps.
type StateOperator struct {
	OperatorName              string           `json:"operatorName"`
	NumRowsTotal              int64            `json:"numRowsTotal"`
	NumRowsUpdated            int64            `json:"numRowsUpdated"`
	NumRowsRemoved            int64            `json:"numRowsRemoved"`
	NumRowsDroppedByWatermark int64            `json:"numRowsDroppedByWatermark"`
	MemoryUsedBytes           int64            `json:"memoryUsedBytes"`
	CustomMetrics             map[string]int64 `json:"customMetrics"`
}

// Offsets are those of a topic's partitions: {"topic": {"0": 123}}.
type Offsets map[string]map[string]int64

// SourceProgress tells how far a source was read.
type SourceProgress struct {
	Description            string            `json:"description"`
	StartOffset            Offsets           `json:"startOffset"`
	EndOffset              Offsets           `json:"endOffset"`
	LatestOffset           Offsets           `json:"latestOffset"`
	NumInputRows           int64             `json:"numInputRows"`
	InputRowsPerSecond     float64           `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
	Metrics                map[string]string `json:"metrics"`
}

// SinkProgress tells what was given out.
type SinkProgress struct {
	Description   string            `json:"description"`
	NumOutputRows int64             `json:"numOutputRows"`
	Metrics       map[string]string `json:"metrics"`
}

// Totals tells what a query did since its start.
type Totals struct {
	Records  int64 `json:"records"` // read
	Bad      int64 `json:"bad"`     // of them, those that could not be used
	Late     int64 `json:"late"`    // rows that came too late
	Filtered int64 `json:"filtered"`
	Future   int64 `json:"future"`
	Lost     int64 `json:"lost"` // records that retention had removed
	Rows     int64 `json:"rows"` // given out
	Retries  int64 `json:"retries"`
	Bytes    int64 `json:"bytes"` // of state, about
}

// Partition is how far a query has come in one partition.
type Partition struct {
	Source    string    `json:"source"`
	Topic     string    `json:"topic"`
	ID        int       `json:"partition"`
	Records   int64     `json:"records"`
	Rate      float64   `json:"recordsPerSecond"` // lately
	Offset    int64     `json:"offset"`           // next to be read
	Lag       int64     `json:"lag"`              // records behind the end
	Lost      int64     `json:"lost"`
	Late      int64     `json:"late"`
	StateRows int64     `json:"stateRows"`
	Watermark time.Time `json:"watermark,omitzero"` // zero: none yet
	Idle      bool      `json:"idle"`
}

// Planner can say how it works.
type Planner interface {
	Plan() Plan
}

// Plan is a graph through which rows go, from its sources to its sinks.
type Plan struct {
	Text  string `json:"text"` // the same for who reads no graph
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a step of a plan.
type Node struct {
	ID      int      `json:"id"`
	Kind    string   `json:"kind"` // source, step, output or sink
	Name    string   `json:"name"` // its first words
	Detail  string   `json:"detail"`
	Metrics []Metric `json:"metrics"`
}

// Metric is a number with a name.
type Metric struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Edge leads from one node to another. Rows is how many rows went there since the start; -1 where nobody counts them.
type Edge struct {
	From int   `json:"from"`
	To   int   `json:"to"`
	Rows int64 `json:"rows"`
}

// Worker does work that has an end.
type Worker interface {
	Work() Work
}

// Work is how far a job has come.
type Work struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0: unknown
	Unit  string `json:"unit"`  // of both: trees, matches
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// Read is how many of the bytes a job of a kind has read: an export writes them.
func (w Work) Read(kind Kind) int64 {
	if kind == Export {
		return 0
	}
	return w.Bytes
}

// Device computes.
type Device interface {
	Device() DeviceState
}

// DeviceState is what a session on a GPU, or on the CPU for want of one, has done. Pairs are of the CPU and of the GPU. What a sensor does not
// say is nil.
type DeviceState struct {
	GPU         string     `json:"gpu,omitempty"` // its name
	Missing     string     `json:"missing,omitempty"`
	Operations  [2]int     `json:"operations"`
	Seconds     [2]float64 `json:"seconds"` // of operations
	Launches    int        `json:"launches"`
	BytesIn     int64      `json:"bytesIn"`
	BytesOut    int64      `json:"bytesOut"`
	PeakMemory  int64      `json:"peakMemory"`
	Fallbacks   int        `json:"fallbacks"`
	Utilization *float64   `json:"utilization,omitempty"` // 0 to 1
	Memory      *float64   `json:"memoryBytes,omitempty"`
	Power       *float64   `json:"powerWatts,omitempty"`
	Temperature *float64   `json:"temperatureCelsius,omitempty"`
}

// Sender writes records to a topic.
type Sender interface {
	Sent() Sent
}

// Sent is what a producer has written.
type Sent struct {
	Topic        string `json:"topic"`
	Acknowledged int64  `json:"acknowledged"`
	Waiting      int64  `json:"waiting"` // for their acknowledgement
	Capacity     int64  `json:"capacity"`
	Error        string `json:"error,omitempty"`
}
