//go:build race

package eval_test

// raceEnabled tells that the race detector watches. It sees two races that are meant to be: lowered code reads the stop
// variable without synchronisation, since that costs nothing, and yaegi's table of globals is replaced by a longer copy
// while goroutines of earlier cells read the entries that both have.
const raceEnabled = true
