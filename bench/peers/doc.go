// Command peers runs the statistics a minute on a topic of a real Kafka, and measures how long an event takes from its producer to a
// result. Beside it stand the same statistics, and the queries of Nexmark (bench/nexmark), on other engines: flink.py, spark.py,
// duckdb_file.py. scripts/peers.sh runs them in turns and writes the tables.
package main
