// Package streaming is what streams of matches need above package stream: the form of the records, the statistics a minute, and the scoring of
// live matches by a model. It uses the public API of queries alone; what a query does with rows, windows and late events is package stream's.
//
// The form of a record is asked for in two ways. MinuteStatistics names the paths that it wants, and package stream reads these (minute.go). The
// scoring hands whole events to a model, so that it reads records itself (record.go), and keeps what the model says on a Board (board.go).
package streaming
