// Command peers runs the statistics a minute on a topic of a real Kafka, and measures how long an event takes from its producer to a
// result, and what a checkpoint each second costs a query with 100 MB of state. Beside it stand the same queries, and those of Nexmark
// (bench/nexmark), on other engines: flink.py, flink_checkpoint.py, spark.py, duckdb_file.py. scripts/peers.sh runs them in turns and
// writes the tables.
package main
