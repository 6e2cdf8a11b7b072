//go:build !race

package eval

// raceDetector tells that the race detector watches.
const raceDetector = false
