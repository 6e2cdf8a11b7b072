package stream

// BitByBit has snapshots written in the smallest steps, so that as much as can be happens between the beginning of one and its end, until undo is called.
func BitByBit() (undo func()) {
	before := stepItems
	stepItems = 1
	return func() { stepItems = before }
}

// Bare is the query without sinks and MaxTime, which are those of whoever has it run.
func (q *Query) Bare() *Query {
	return q.with(func(q *Query) { q.sinks, q.letters, q.length = nil, nil, 0 })
}
