// Package stream runs queries over streams of records: event-time windows, watermarks, statistics and scoring, with Spark
// Structured Streaming's semantics. It ends at the record: how records come from a broker is package kafka's, what a model
// makes of a match is package lwp's.
package stream
