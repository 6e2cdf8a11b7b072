// Command nexmark runs queries of Nexmark, the benchmark of streaming systems by Tucker, Tufte, Papadimos and Maier (an auction house: persons,
// auctions and bids), on package stream, and times them:
//
//	go run ./bench/nexmark -events 2000000                                   records in memory
//	go run ./bench/nexmark -source files -dir out/nexmark                    JSON lines, which are made unless they are there
//	go run ./bench/nexmark -source kafka -brokers 127.0.0.1:19292 -fill      a topic, which is filled first
//	go run ./bench/nexmark -only q5,q7 -rows out/rows                        some queries, their rows as CSV
//
// generate.go makes the events, queries.go has the queries, each beside its published form. scripts/nexmark.sh compares all rows with
// DuckDB's (check.py), which computes them from the same events in files.
package main
