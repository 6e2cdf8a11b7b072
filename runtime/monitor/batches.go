package monitor

import (
	"net/http"
	"slices"
	"strings"

	"cancha/internal/running"
)

// The paths of Spark's older streaming (/streaming/statistics, receivers, batches) sum up all queries that run.

// lately are the reports of the queries that run, by query.
func (s *Server) lately() (items []item, reports [][]running.Progress) {
	for _, i := range s.pull.items(running.Query) {
		t, ok := i.Thing().(running.Streamer)
		if ok && i.State() == running.Running {
			items, reports = append(items, i), append(reports, t.Recent(-1))
		}
	}
	return items, reports
}

func (s *Server) statistics(*http.Request) (any, error) {
	items, reports := s.lately()
	is := statistics{StartTime: date(s.begun), BatchDuration: 1000, NumActiveBatches: int64(len(items))}
	processing, delay, delays := int64(0), int64(0), int64(0)
	for n, i := range items {
		is.NumReceivers += len(i.Progress.Sources)
		is.NumReceivedRecords += i.Totals.Records
		if k := len(reports[n]); k > 0 { // or Progress is a report of nothing, whose number is 0
			is.NumTotalCompletedBatches += reports[n][k-1].BatchID + 1
		}
		is.AvgInputRate += queryOf(i).InputRate
		for _, p := range reports[n] {
			is.NumRetainedCompleted++
			processing += p.BatchDuration
			if d := schedulingDelay(p); d != nil {
				delay, delays = delay+*d, delays+1
			}
		}
	}
	is.NumActiveReceivers, is.NumProcessedRecords = is.NumReceivers, is.NumReceivedRecords
	is.AvgProcessingTime, is.AvgSchedulingDelay = mean(processing, is.NumRetainedCompleted), mean(delay, delays)
	is.AvgTotalDelay = is.AvgProcessingTime + is.AvgSchedulingDelay
	return is, nil
}

// mean is 0 of nothing.
func mean(sum, n int64) int64 { return sum / max(n, 1) }

func (s *Server) receivers(*http.Request) (any, error) {
	all := []receiver{}
	items, _ := s.lately()
	for _, i := range items {
		for n, p := range i.Progress.Sources {
			all = append(all, receiver{StreamID: int64(n), StreamName: p.Description, IsActive: true, ExecutorID: "driver", AvgEventRate: p.InputRowsPerSecond, Query: i.Name})
		}
	}
	return all, nil
}

func (s *Server) batches(*http.Request) (any, error) {
	all := []batch{}
	items, reports := s.lately()
	for n, i := range items {
		for _, p := range reports[n] {
			all = append(all, batchOf(i, p))
		}
	}
	slices.SortStableFunc(all, func(a, b batch) int { return strings.Compare(b.BatchTime, a.BatchTime) })
	return all, nil
}

func batchOf(i item, p running.Progress) batch {
	b := batch{
		BatchID: p.BatchID, BatchTime: strings.TrimSuffix(p.Timestamp, "Z") + "GMT", Status: "COMPLETED", BatchDuration: p.DurationMs["triggerExecution"],
		InputSize: p.NumInputRows, ProcessingTime: p.BatchDuration, NumCompletedOutputOps: 1, NumTotalOutputOps: 1, Query: i.Name, QueryID: i.ID,
	}
	if d := schedulingDelay(p); d != nil {
		b.SchedulingDelay = *d
	}
	b.TotalDelay = b.SchedulingDelay + b.ProcessingTime
	return b
}
