// Package stream measures the road of a record, embedded broker → decoder → one-minute windows, beside the same job as a Go
// programmer would write it by hand: kafka-go's Reader and encoding/json. It holds benchmarks only:
//
//	go test -run '^$' -bench Stream -benchtime 1x -count 5 ./bench/stream
//
// prints events/s for both; take the medians of the five.
package stream
