// Package replay turns matches into a stream of records, as if they were being played: many at once, in event time, with the
// envelope and the keys that readers of the topic rely on. It ends at the record: who writes it, and where, is its caller's.
//
// # The replay clock
//
// Event time is kickoff + offset(period) + timestamp, never the historic date. An event's timestamp restarts in each period;
// offset(1) = 0 and offset(p+1) = offset(p) + L(p), where L(p) is the greatest timestamp of period p in that match. There is
// no pause at half time.
//
// Matches are played in batches. The matches of a batch kick off together, the first batch at Config.Start, each later one at
// the first whole minute after the latest event of the batch before. Within a batch events are sent in event-time order, ties
// by match id. Within a match the order is that of period and index: timestamps step back now and then, and that disorder is
// real; it is for the reader's watermark.
//
// # Keys and partitions
//
// A record's key is the match id in decimal, so that a match stays in one partition and in order. Each replay of a match has
// an id of its own (the id in the archive is metadata.source_match_id): ids begin at the minute of Start, counted from 1970,
// times 10,000. A batch has at least four matches for each partition, and ids are given out so that their hashes spread the
// batch evenly: a partition without a match would hold the watermark of a reader back until it is known to be idle.
//
// # Same input, same bytes
//
// With the same archive, Seed and Start the records are the same, byte for byte and in the same order, but for
// metadata.producer_timestamp.
package replay
