#!/usr/bin/env bash
# The same plan over one topic of a real Kafka on the local engine and on Spark local[2] through our own client, in turns (bench/spark): rates,
# processor seconds, memory. The table goes to OUT/spark.md (out/bench-spark) and to the terminal.
#
#   scripts/kafka.sh with scripts/bench-spark.sh
#
# EVENTS (2000000), TURNS (3), SPARK_MEM (4g), SPARK_PORT as in scripts/spark.sh. Java 17, Maven, pip; five minutes on 2 cores, which must be quiet.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-out/bench-spark} brokers=${CANCHA_KAFKA:?run it by scripts/kafka.sh with}
mkdir -p "$out"
SPARK_DIR=$(cd "$out" && pwd)/server
export SPARK_DIR SPARK_MEM=${SPARK_MEM:-4g} SPARK_CORES=2 GOMAXPROCS=2
go build -C bench -o "$(realpath "$out")/bench" ./spark

scripts/spark.sh fetch
began=$(date +%s%N)
trap 'scripts/spark.sh stop' EXIT # also of one that has not come up
address=$(scripts/spark.sh start)
took=$((($(date +%s%N) - began) / 100000000))
"$out/bench" -brokers "$brokers" -master "${address#CANCHA_SPARK=}" -jvm "$(cat "$SPARK_DIR/server.pid")" -started "$((took / 10)).$((took % 10)) s" \
  -events "${EVENTS:-2000000}" -turns "${TURNS:-3}" >"$out/spark.md"
cat "$out/spark.md"
