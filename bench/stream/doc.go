// Package stream measures the road of a record, embedded broker → decoder → one-minute windows, beside the same job as a Go
// programmer would write it by hand: kafka-go's Reader and encoding/json. Beside the benchmark it holds the events of it, Event:
//
//	go test -run '^$' -bench Stream -benchtime 5x -cpu 2 ./bench/stream
//
// prints the median events/s of both over five rounds, and how many times one is the other.
package stream
