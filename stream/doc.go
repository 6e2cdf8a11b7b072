// Package stream runs queries over streams of records of any topic, with Spark Structured Streaming's semantics: event time and watermarks,
// tumbling, sliding and session windows, statistics, joins of streams and tables, deduplication, keyed processes with states and timers, and
// sinks. It ends at the record and at the row: how records come from a broker is package kafka's, what they mean is their users'.
//
// A query is a chain of calls that starts with From:
//
//	running, err := stream.From(source).
//		EventTime(stream.Field("created").AsTime()).Watermark(30 * time.Second).
//		Filter(stream.Field("status").Ne("cancelled")).
//		GroupBy("customer.city").Window(stream.Sliding(5*time.Minute, time.Minute)).
//		Agg(stream.Count("orders"), stream.Sum("revenue", stream.Field("total"))).
//		To(sink).
//		Start(ctx)
//
// The calls make a plan (package plan), which Explain shows. Start checks it and compiles it into a graph (build), and refuses what cannot be
// expressed with what to write instead. A source hands batches of records to the run (reader), each partition's through a lane of its own
// (lane), which decodes the paths that the plan names, takes the steps without memory, and keeps windows, or rows for the operators behind the
// lanes. What has become ready is given out under one lock (give). Records can also go undecoded to a process of a program's own (records).
//
// What is read: Memory, Generate, and the sources of packages kafka, file and shop; as JSON, CSV, text, Avro (package avro) or a Format of
// one's own. What is written: Results, SinkFunc, and the sinks of packages kafka, file, parquet and postgres. Each says what it promises when
// the query dies.
//
// A query may run elsewhere (engine): on Spark, say. The run is then fed with what an Engine hands over (remote), and not by the graph.
//
// What does not hold by accident:
//   - Where records are keyed (KeyedBy), a window's row depends on the records of its partition and their order alone, never on batches or timing,
//     unless the partition falls silent. Late records are judged by the watermark at the very record, before a window is in fact closed.
//   - A lane's watermark counts for others when its rows are with the operators behind, and not before.
//   - Rows are taken out of windows and given out under one lock, so that no older state of a row follows a newer one.
//   - A record is scanned to its end even where no path is left to read: text that is not JSON never passes.
package stream
