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
// the first whole minute after the latest event of the batch before. The events of a batch are sent in event-time order, ties
// by match id and index. So a record is never late because of its producer; what arrives out of order has been disordered on
// its way.
//
// Within a match that is nearly the order of period and index, but not quite: real timestamps step back now and then. The
// last Ball Receipt* of a half may even bear the first second of the half (in 26 of 82 matches of the open data that have such events), 45
// minutes before the pass that it receives. Readers that need the order of a match go by period and index.
//
// # Keys and partitions
//
// A record's key is the match id in decimal, so that a match stays in one partition and in order. Each replay of a match has
// an id of its own (the id in the archive is metadata.source_match_id): ids begin at the microseconds since 1970, at the moment
// when the replay begins or, with a Start, at what Start and Seed give. A batch has at least four matches for each partition, and ids are given out so that their hashes spread the
// batch evenly: a partition without a match would hold the watermark of a reader back until it is known to be idle.
//
// # Same input, same bytes
//
// With the same archive, Seed and Start the records are the same, byte for byte and in the same order, but for
// metadata.producer_timestamp.
package replay
