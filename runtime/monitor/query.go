package monitor

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"cancha/internal/running"
)

// query is a query of a stream in a line of the Streaming tab.
type query struct {
	ID              int64           `json:"id"`
	RunID           string          `json:"runId"`
	Name            string          `json:"name"`
	State           running.State   `json:"state"`
	Status          string          `json:"status"`
	Late            bool            `json:"isBusy"` // it has not answered in time: the numbers are older
	LastReport      *date           `json:"lastReport,omitempty"`
	HeldUp          int64           `json:"heldUp"`    // milliseconds without a report, where those are too many; 0: it reports
	HeldEpoch       int64           `json:"heldEpoch"` // milliseconds for which an epoch has been on its way, where those are too many; 0: none is held up
	StartTime       date            `json:"startTime"`
	EndTime         *date           `json:"endTime,omitempty"`
	Duration        int64           `json:"duration"` // milliseconds
	LatestBatchID   int64           `json:"latestBatchId"`
	InputRate       float64         `json:"avgInput"`   // rows a second since the start
	ProcessRate     float64         `json:"avgProcess"` // rows a second, as of the newest report
	RecentInputRate float64         `json:"inputRowsPerSecond"`
	Busy            *float64        `json:"busy,omitempty"` // share of the newest report's time that was spent on records
	Lag             int64           `json:"lag"`
	SchedulingDelay *int64          `json:"schedulingDelay,omitempty"` // milliseconds
	WatermarkGap    *float64        `json:"watermarkGapSecs,omitempty"`
	StateRows       int64           `json:"stateRows"`
	Totals          running.Totals  `json:"totals"`
	Partitions      int             `json:"numPartitions"`
	Skew            *float64        `json:"skew,omitempty"` // of the busiest partition to the mean
	Exception       string          `json:"exception,omitempty"`
	Can             map[string]bool `json:"can"` // stop, drain
}

// details are a query's own page.
type details struct {
	query
	Notes      []string            `json:"notes"`
	Sources    []source            `json:"sources"`
	Partitions []running.Partition `json:"partitions"`
	Recent     []epoch             `json:"recentProgress"`
}

// source sums up the partitions of a source, of one topic.
type source struct {
	Description string   `json:"description"`
	Topic       string   `json:"topic"`
	Partitions  int      `json:"numPartitions"`
	Records     int64    `json:"records"`
	Rate        float64  `json:"recordsPerSecond"`
	Lag         int64    `json:"lag"`
	Late        int64    `json:"late"`
	Lost        int64    `json:"lost"`
	Skew        *float64 `json:"skew,omitempty"`
	Busiest     int      `json:"busiestPartition"`
}

// epoch is a report with what follows from it.
type epoch struct {
	running.Progress
	SchedulingDelay *int64   `json:"schedulingDelay,omitempty"`
	WatermarkGap    *float64 `json:"watermarkGapSecs,omitempty"`
}

func queryOf(i item) query {
	state, ended, err := i.Outcome()
	p := i.Progress
	q := query{
		ID: i.ID, RunID: p.RunID, Name: i.Name, State: state, Status: statusOf(i), Late: i.Late, StartTime: date(i.Started), EndTime: dateOf(ended),
		LastReport: dateOf(p.Reported()), HeldUp: i.Hold.Silent.Milliseconds(), HeldEpoch: i.Hold.Epoch.Milliseconds(),
		Duration: i.Elapsed().Milliseconds(), LatestBatchID: p.BatchID, ProcessRate: p.ProcessedRowsPerSecond, RecentInputRate: p.InputRowsPerSecond,
		Lag: lagOf(p), SchedulingDelay: schedulingDelay(p), WatermarkGap: watermarkGap(p), Totals: i.Totals, Partitions: len(i.Sources),
		Skew: skewOf(i.Sources), Can: map[string]bool{},
	}
	if seconds := i.Elapsed().Seconds(); seconds > 0 {
		q.InputRate = float64(i.Totals.Records) / seconds
	}
	if whole := p.DurationMs["triggerExecution"]; whole > 0 {
		share := min(1, float64(p.BatchDuration)/float64(whole))
		q.Busy = &share
	}
	for _, o := range p.StateOperators {
		q.StateRows += o.NumRowsTotal
	}
	if err != nil {
		q.Exception = err.Error()
	}
	if q.State == running.Running {
		_, q.Can["stop"] = i.Thing().(running.Stopper)
		_, q.Can["drain"] = i.Thing().(running.Drainer)
	} else {
		q.RecentInputRate, q.Busy, q.SchedulingDelay = 0, nil, nil
	}
	if i.Hold.Silent > 0 {
		q.Busy = nil
	}
	return q
}

// statusOf is what a query says of itself, unless it is held up, which it does not know.
func statusOf(i item) string { return cmp.Or(i.Hold.String(), i.Status) }

// detailsOf has the reports after a batch.
func detailsOf(i item, after int64) details {
	d := details{query: queryOf(i), Notes: append([]string{}, i.Notes...), Partitions: append([]running.Partition{}, i.Sources...), Sources: sourcesOf(i.Sources), Recent: []epoch{}}
	if s, ok := i.Thing().(running.Streamer); ok {
		for _, p := range s.Recent(after) {
			d.Recent = append(d.Recent, epoch{p, schedulingDelay(p), watermarkGap(p)})
		}
	}
	return d
}

// lagOf is how many records are there that have not been read.
func lagOf(p running.Progress) (lag int64) {
	for _, s := range p.Sources {
		n, _ := strconv.ParseInt(s.Metrics["lag"], 10, 64) // absent where a source does not know
		lag += n
	}
	return lag
}

// schedulingDelay is how many milliseconds the newest record will wait at the speed of the report: 0 where all has been read, nil where nothing
// has been read although something is there. In Spark it is what a batch waits for those before it.
func schedulingDelay(p running.Progress) *int64 {
	lag := lagOf(p)
	if lag > 0 && p.InputRowsPerSecond <= 0 {
		return nil
	}
	ms := int64(0)
	if lag > 0 {
		ms = int64(float64(lag) / p.InputRowsPerSecond * 1000)
	}
	return &ms
}

// watermarkGap is by how many seconds the watermark is behind the report's time: Spark's Global Watermark Gap. nil: there is no watermark.
func watermarkGap(p running.Progress) *float64 {
	watermark, err := time.Parse(time.RFC3339, p.EventTime["watermark"])
	at, err2 := time.Parse(time.RFC3339, p.Timestamp)
	if err != nil || err2 != nil {
		return nil
	}
	gap := at.Sub(watermark).Seconds()
	return &gap
}

// sourcesOf sums partitions up by source and topic, in the order in which they come.
func sourcesOf(partitions []running.Partition) []source {
	all := []source{}
	of := map[[2]string][]running.Partition{}
	for _, p := range partitions {
		key := [2]string{p.Source, p.Topic}
		if of[key] == nil {
			all = append(all, source{Description: p.Source, Topic: p.Topic})
		}
		of[key] = append(of[key], p)
	}
	for i := range all {
		all[i].sum(of[[2]string{all[i].Description, all[i].Topic}])
	}
	return all
}

func (s *source) sum(partitions []running.Partition) {
	for _, p := range partitions {
		s.Partitions++
		s.Records += p.Records
		s.Rate += p.Rate
		s.Lag += p.Lag
		s.Late += p.Late
		s.Lost += p.Lost
	}
	s.Skew = skewOf(partitions)
	s.Busiest = slices.MaxFunc(partitions, func(a, b running.Partition) int { return cmp.Compare(a.Records, b.Records) }).ID
}

// skewOf is how many times the mean the partition with the most records has had; nil of fewer than two, or before the first record.
func skewOf(partitions []running.Partition) *float64 {
	most, sum := int64(0), int64(0)
	for _, p := range partitions {
		most, sum = max(most, p.Records), sum+p.Records
	}
	if len(partitions) < 2 || sum == 0 {
		return nil
	}
	skew := float64(most) * float64(len(partitions)) / float64(sum)
	return &skew
}
