package stream

// BitByBit has snapshots written in the smallest steps, so that as much as can be happens between the beginning of one and its end, until undo is called.
func BitByBit() (undo func()) {
	before := stepItems
	stepItems = 1
	return func() { stepItems = before }
}
