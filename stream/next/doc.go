// Package next is the query API of package stream in its next edition, for any topic: expressions, windows of all kinds, joins, tables, keyed
// processes. It runs on the rooms beside it (decode, eval, aggregate, flow) and reads the sources of package stream. Package stream takes it
// over once the queries of matches are written with it; until then nothing but its tests imports it.
package next
