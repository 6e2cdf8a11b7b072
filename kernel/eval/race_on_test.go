//go:build race

package eval_test

// raceEnabled tells that the race detector watches. It sees one race that is meant to be: lowered code reads the stop variable
// without synchronisation, since that costs nothing. Lines of tracebacks, which would be another, are left out.
const raceEnabled = true
