// Package stream runs queries over streams of records: event-time windows, watermarks, statistics and scoring, with Spark
// Structured Streaming's semantics. It ends at the record: how records come from a broker is package kafka's, what a model
// makes of a match is package lwp's.
//
// A query is a plan of paths and operators (query, expression, aggregate), checked and compiled when it starts (plan,
// projection). A source hands batches of records to a run (run), each partition through a lane of its own (lane), which
// decodes them (decode, scan, number, instant) and keeps that partition's open windows (windows) or calls a model
// (scorelane). Windows that the watermark has passed become rows (emit, running, results). Nothing is shared between lanes
// but the dictionary of texts that serve as keys, so that lanes run side by side.
//
// What does not hold by accident:
//   - A row depends on the records of its partition and their order alone, never on batches or timing, where the groups
//     contain match_id. Late events are judged by the watermark at the very record, before a window is in fact closed.
//   - Rows are taken out of windows and given out under one lock, so that no older state of a row follows a newer one.
//   - A record is scanned to its end even where no path is left to read: text that is not JSON never passes.
package stream
