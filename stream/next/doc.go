// Package next is the query API of package stream in its next edition, for any topic: expressions, windows of all kinds, joins, tables, keyed
// processes. It runs on the rooms beside it (decode, eval, aggregate, flow) and reads the sources of package stream. Package stream takes it
// over; until then programs use it under this name, and cells do not.
package next
