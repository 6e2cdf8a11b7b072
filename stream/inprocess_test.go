package stream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// inProcess is an Engine that has its job done by another query of this process, and hands over what that does as a cluster would: rows by batches, in
// columns of another order, each batch twice, as after a connection that was lost.
type inProcess struct{ query *Query }

func (e inProcess) String() string { return "another query" }

// Start implements Engine.
func (e inProcess) Start(ctx context.Context, job Job) (Remote, error) {
	f := &farQuery{batches: make(chan farBatch), seen: -1, bad: map[string]int64{}}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	var err error
	f.running, err = e.query.Bare().Name(job.Plan.Name + ", elsewhere").On(nil).To(SinkFunc(f.take)).Start(f.ctx)
	return f, err
}

// farQuery is the query that does the job.
type farQuery struct {
	running *Running
	ctx     context.Context
	cancel  context.CancelCauseFunc
	batches chan farBatch
	seen    int64 // the newest report that was handed over
	bad     map[string]int64
}

type farBatch struct {
	epoch int64
	rows  *Rows
	taken chan error
}

// take is the sink of the query that does the job.
func (f *farQuery) take(epoch int64, rows *Rows) error {
	b := farBatch{epoch, rows, make(chan error, 1)}
	select {
	case f.batches <- b:
		return <-b.taken
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

// Run implements Remote.
func (f *farQuery) Run(ctx context.Context, to Receiver) error {
	over := make(chan error, 1)
	go func() { over <- f.running.Wait(context.Background()) }() // ends with the query, which is ended below
	reports := time.NewTicker(20 * time.Millisecond)
	defer reports.Stop()
	for {
		select {
		case b := <-f.batches:
			b.taken <- f.hand(ctx, b, to)
		case <-reports.C:
			f.report(to)
		case err := <-over:
			f.report(to)
			return err
		case <-ctx.Done():
			f.cancel(context.Cause(ctx))
			<-over
			return context.Cause(ctx)
		}
	}
}

// hand hands a batch over, twice.
func (f *farQuery) hand(ctx context.Context, b farBatch, to Receiver) error {
	names := b.rows.Names()
	slices.Reverse(names)
	rows, err := b.rows.Select(names...)
	return errors.Join(err, to.Rows(ctx, b.epoch, rows), to.Rows(ctx, b.epoch, rows))
}

// report hands over the reports that are new, and the bad records.
func (f *farQuery) report(to Receiver) {
	for _, r := range f.running.BadRecords().Reasons {
		if n := r.Count - f.bad[r.Reason]; n > 0 {
			to.Bad(r.Reason, n)
		}
		f.bad[r.Reason] = r.Count
	}
	for _, p := range f.running.Recent() {
		if p.BatchID > f.seen && !p.Timestamp.IsZero() && len(p.Sources) > 0 {
			f.seen = p.BatchID
			to.Progress(p)
		}
	}
}

// Stop implements Remote.
func (f *farQuery) Stop(ctx context.Context) error {
	go func() { _ = f.running.Stop(context.WithoutCancel(ctx)) }() // Run tells how it ended
	return nil
}

// elsewhere is the query where the test wants it to run.
func elsewhere(t testing.TB, q *Query) *Query {
	if strings.HasPrefix(t.Name(), "TestElsewhere/") {
		return q.On(inProcess{q})
	}
	return q
}

// TestElsewhere: what a user sees of a query is the same where another engine runs it.
func TestElsewhere(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"TumblingSums":                          TestTumblingSums,
		"SlidingWindowsHoldAnEventSeveralTimes": TestSlidingWindowsHoldAnEventSeveralTimes,
		"SessionsEndAGapAfterTheLastEvent":      TestSessionsEndAGapAfterTheLastEvent,
		"ExplodeAndColumns":                     TestExplodeAndColumns,
		"JoinsWithinTime":                       TestJoinsWithinTime,
		"Lookups":                               TestLookups,
		"TopOfEachWindow":                       TestTopOfEachWindow,
		"DeduplicateUnionAndASecondAggregation": TestDeduplicateUnionAndASecondAggregation,
		"UpdateKeepsTheNewestStateOfARow":       TestUpdateKeepsTheNewestStateOfARow,
		"CSV":                                   TestCSV,
		"ACancelledQueryGivesOutNoOpenWindow":   TestACancelledQueryGivesOutNoOpenWindow,
		"ProgressForm":                          TestProgressForm,
		"ProgressWithoutMemory":                 TestProgressWithoutMemory,
		"OperatorsReportTheirState":             TestOperatorsReportTheirState,
		"OffsetsAndLag":                         TestOffsetsAndLag,
		"ReportsWhileRunning":                   TestReportsWhileRunning,
		"AppendGivesEachRowOnce":                TestAppendGivesEachRowOnce,
		"UpdateGivesRowsAsTheyChange":           TestUpdateGivesRowsAsTheyChange,
		"CompleteGivesAllRows":                  TestCompleteGivesAllRows,
		"GroupsWithoutWindows":                  TestGroupsWithoutWindows,
		"LargeIntegersAreThemselves":            TestLargeIntegersAreThemselves,
		"AvailableNowEnds":                      TestAvailableNowEnds,
		"TableOfWindowsIsWhole":                 TestTableOfWindowsIsWhole,
		"Ending":                                TestEnding,
		"MaxRecordsEndsAnOpenTopic":             TestMaxRecordsEndsAnOpenTopic,
		"SinkErrorEndsTheQuery":                 TestSinkErrorEndsTheQuery,
		"SinksAreOpenedAndClosedOnce":           TestSinksAreOpenedAndClosedOnce,
		"SourceErrorEndsTheQuery":               TestSourceErrorEndsTheQuery,
		"StopAndCancel":                         TestStopAndCancel,
		"StopWhileWaitingForATable":             TestStopWhileWaitingForATable,
		"MaxTime":                               TestMaxTime,
		"APanicOfASink":                         TestAPanicOfASink,
		"FaultsOfOthersEndTheQuery":             TestFaultsOfOthersEndTheQuery,
		"TotalsDoNotWaitForASink":               TestTotalsDoNotWaitForASink,
		"Listed":                                TestListed,
	} {
		t.Run(name, test)
	}
}
