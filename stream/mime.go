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
	columns := r.Columns[:min(len(r.Columns), shownColumns)]
	t := &shownTable{}
	head := r.rows[:min(len(r.rows), shownWindows)]
	for i, c := range columns {
		t.names, t.texts = append(t.names, c.Name), append(t.texts, !numbers(head, i, c))
	}
	for _, row := range head {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = shownValue(row[i], c)
		}
		t.add(cells...)
	}
	t.caption = countCaption(int64(len(t.rows)), max(int64(len(r.rows)), r.Total), len(r.Columns))
	return t
}

// shownValue writes a value for the eye: two decimals of a number in a column of numbers, and a dash where there is none.
func shownValue(v Value, c Column) string {
	switch {
	case v.IsNull():
		return none
	case v.Kind() == Time:
		return shortTime(v.Time())
	case v.Kind() == Float && c.Kind == Float:
		return fixedNumber(v.Float(), 2)
	}
	return shortText(v.String())
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
		t.add("rows kept", wholeNumber(p.StateRows()))
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
func (r *Running) MIMEBundle() map[string]any { return r.shown().bundle() }

// String is what the query does and did, as aligned text.
func (r *Running) String() string { return r.shown().text() }

func (r *Running) shown() *shownTable {
	r.mu.Lock()
	message, cause := r.status.message, r.status.cause
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
	t.caption = r.query.name + ", " + r.sources()
	if at := r.work.at(); at != "" {
		t.caption += "\nruns on " + at
	}
	for _, sentence := range append(r.Notes(), cause) {
		if sentence != "" {
			t.caption += "\n" + sentence // whole: it says what to do
		}
	}
	return t
}

// sources are the descriptions of what is read.
func (r *Running) sources() string {
	var names []string
	for _, in := range r.graph.inputs {
		names = append(names, describeSource(in.query.source))
	}
	return strings.Join(names, ", ")
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

// numbers tells whether a column is shown to the right, as numbers are: by its kind, or by what it holds where that is not known.
func numbers(rows [][]Value, i int, c Column) bool {
	if c.Kind != Any {
		return c.Kind == Int || c.Kind == Float
	}
	found := false
	for _, row := range rows {
		k := row[i].Kind()
		if k != Null && k != Int && k != Float {
			return false
		}
		found = found || k != Null
	}
	return found
}
