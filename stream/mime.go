package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// MIMEBundle shows the first rows as a table.
func (r *Rows) MIMEBundle() map[string]any { return r.shown().bundle() }

// String is the first rows as aligned text.
func (r *Rows) String() string { return r.shown().text() }

func (r *Rows) shown() *shownTable {
	t := &shownTable{left: len(r.KeyNames) + 1}
	columns := len(r.KeyNames) + 1 + len(r.Columns)
	rest := min(len(r.Columns), max(0, shownColumns-t.left))
	t.names = append(append(t.names, r.KeyNames...), "window_start")
	for _, c := range r.Columns[:rest] {
		t.names = append(t.names, c.Name)
	}
	head := r.Rows[:min(len(r.Rows), shownWindows)]
	for _, row := range head {
		var cells []string
		for _, k := range row.Keys {
			cells = append(cells, shortText(k.Text))
		}
		cells = append(cells, shortTime(row.Start))
		for i, v := range row.Values[:rest] {
			cells = append(cells, fixedNumber(v, r.decimals(i)))
		}
		t.add(cells...)
	}
	t.caption = countCaption(int64(len(t.rows)), max(int64(len(r.Rows)), r.Total), columns)
	return t
}

// decimals is how many decimals a column is shown with.
func (r *Rows) decimals(column int) int {
	if r.Columns[column].Integer {
		return 0
	}
	return 2
}

// MIMEBundle shows the report as a table.
func (p Progress) MIMEBundle() map[string]any { return p.shown().bundle() }

// String is the report as aligned text.
func (p Progress) String() string { return p.shown().text() }

func (p Progress) shown() *shownTable {
	t := &shownTable{left: 1, caption: fmt.Sprintf("%s, epoch %d at %v", p.Name, p.BatchID, p.Timestamp)}
	t.add("input rate", rateNumber(p.InputRowsPerSecond))
	t.add("process rate", processRate(p))
	t.add("input rows", wholeNumber(p.NumInputRows))
	t.add("batch duration", wholeNumber(p.BatchDuration)+" ms")
	t.add("watermark", p.watermarkText())
	if len(p.StateOperators) > 0 {
		t.add("rows of open windows", wholeNumber(p.StateRows()))
	}
	t.add("late rows", wholeNumber(p.LateRows()))
	for _, s := range p.Sources {
		for _, name := range []string{"lag", "lost", "badRecords"} {
			t.add(name, s.Metrics[name])
		}
	}
	t.add("rows given out", wholeNumber(p.Sink.NumOutputRows))
	return t
}

// MIMEBundle shows what the query does and did.
func (r *run) MIMEBundle() map[string]any { return r.shown().bundle() }

// String is what the query does and did, as aligned text.
func (r *run) String() string { return r.shown().text() }

func (r *run) shown() *shownTable {
	r.mu.Lock()
	message, cause := r.message, r.cause
	r.mu.Unlock()
	progress := r.Progress()
	t := r.Totals().shown()
	t.rows = append([][]string{{"status", message}}, t.rows...)
	if r.Active() {
		t.add("input rate", rateNumber(progress.InputRowsPerSecond))
		t.add("process rate", processRate(progress))
		t.add("batch duration", wholeNumber(progress.BatchDuration)+" ms")
	}
	t.add("watermark", progress.watermarkText())
	t.caption = fmt.Sprintf("%s, %s", r.name, r.source.Description())
	for _, sentence := range append(r.Notes(), cause) {
		if sentence != "" {
			t.caption += "\n" + sentence // whole: it says what to do
		}
	}
	return t
}

// MIMEBundle shows the totals as a table.
func (t Totals) MIMEBundle() map[string]any { return t.shown().bundle() }

func (t Totals) shown() *shownTable {
	s := &shownTable{left: 1, caption: "since the start"}
	s.add("elapsed", seconds(t.Elapsed))
	s.add("records", wholeNumber(t.Records))
	s.add("records a second", rateNumber(rate(t.Records, t.Elapsed)))
	s.add("rows given out", wholeNumber(t.Rows))
	s.add("late rows", wholeNumber(t.Late))
	s.add("bad records", wholeNumber(t.Bad))
	if t.Future > 0 {
		s.add("events far in the future", wholeNumber(t.Future))
	}
	if t.Lost > 0 {
		s.add("records lost to retention", wholeNumber(t.Lost))
	}
	if t.Retries > 0 {
		s.add("times it tried again", wholeNumber(t.Retries))
	}
	return s
}

// MIMEBundle shows the reasons, and the newest bad records, as tables.
func (b *BadRecords) MIMEBundle() map[string]any {
	reasons := &shownTable{names: []string{"reason", "records"}, left: 1,
		caption: fmt.Sprintf("%d bad records, %d reasons", b.Total, len(b.Reasons))}
	for _, r := range b.Reasons[:min(len(b.Reasons), shownRows)] {
		reasons.add(shortText(r.Reason), wholeNumber(r.Count))
	}
	newest := &shownTable{names: []string{"partition", "offset", "reason", "record"}, left: 4,
		caption: fmt.Sprintf("the newest %d", min(len(b.Newest), shownRows))}
	for _, r := range b.Newest[max(0, len(b.Newest)-shownRows):] {
		newest.add(fmt.Sprint(r.Partition), strconv.FormatInt(r.Offset, 10), shortText(r.Reason), shortText(string(r.Value[:min(len(r.Value), 400)])))
	}
	if len(b.Newest) == 0 {
		return reasons.bundle()
	}
	return map[string]any{"text/html": reasons.html() + newest.html(), "text/plain": strings.Join([]string{reasons.text(), newest.text()}, "\n\n")}
}

// MIMEBundle shows the newest predictions of the list as a table.
func (p *Predictions) MIMEBundle() map[string]any { return p.shown().bundle() }

// String is the newest predictions of the list as aligned text.
func (p *Predictions) String() string { return p.shown().text() }

func (p *Predictions) shown() *shownTable {
	t := &shownTable{names: []string{"match", "home", "away", "score", "minute", "home win", "draw", "away win"}, left: 3}
	for _, each := range p.List[max(0, len(p.List)-shownRows):] {
		t.add(strconv.FormatInt(each.MatchID, 10), shortText(each.HomeTeam.Name), shortText(each.AwayTeam.Name), each.Score(),
			fmt.Sprintf("%d:%02d", each.Minute, each.Second), percent(each.Home), percent(each.Draw), percent(each.Away))
	}
	t.caption = countCaption(int64(len(t.rows)), max(int64(len(p.List)), p.Total), len(t.names))
	return t
}

// MIMEBundle shows the latencies as a table.
func (l Latencies) MIMEBundle() map[string]any { return l.shown().bundle() }

// String is the latencies as aligned text.
func (l Latencies) String() string { return l.shown().text() }

func (l Latencies) shown() *shownTable {
	t := &shownTable{names: []string{"latency in ms", "count", "mean", "median", "99 %", "max"}, left: 1,
		caption: "median and 99 % quantile of the newest 4,096, the rest of all"}
	for _, each := range []struct {
		name string
		of   Latency
	}{{"batch without the model", l.WithoutModel}, {"batch with the model", l.WithModel}, {"event since it was sent", l.SinceSent}} {
		t.add(each.name, wholeNumber(each.of.Count), milliseconds(each.of.Mean), milliseconds(each.of.P50),
			milliseconds(each.of.P99), milliseconds(each.of.Max))
	}
	return t
}
