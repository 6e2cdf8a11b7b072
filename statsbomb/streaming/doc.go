// Package streaming is what streams of matches need above package stream: the form of the records, the statistics a minute, and the scoring of
// live matches by a model. It uses the public API of queries alone. Until package stream has taken over its next edition, notebooks use the
// queries of the same names there.
package streaming
