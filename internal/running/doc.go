// Package running is the list of what runs in this process: queries, fits, loads, GPU sessions, producers. Whoever starts such a thing adds it and
// ends its entry; whoever shows or stops things asks here. It ends at the list: what a thing does is its own business, and how it looks is that
// of the page (runtime/monitor) and of %streams.
//
// What is listed is a [Thing]. What more it can do are interfaces of their own, which are asked for one by one: [Stopper], [Drainer], [Streamer],
// [Epochal], [Quiet], [Planner], [Worker], [Device], [Sender]. They are called when somebody looks, by any goroutine, and never by the thing's own work: nothing here is
// called for a record.
//
// Kernel and library wing meet in this room, as they do in internal/cellio: %streams lists what stream has added.
package running
