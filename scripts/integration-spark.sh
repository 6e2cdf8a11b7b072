#!/usr/bin/env bash
# Spark and Kafka of their own (scripts/spark.sh, scripts/kafka.sh), and on them everything of ours that reaches Spark. Each part says how long it took.
#
#   scripts/integration-spark.sh [PART...]     all parts, or some, in this order:
#     protocol     connect.proto is what Spark's own jar defines
#     server       every test of spark/... and stream, the plans and the queries of Nexmark on both engines, on a Connect server, local[2], which is paused and killed
#     orphans      notebooks that are interrupted, restarted, shut down and killed leave nothing running on a server
#     notebooks    notebooks with -p master=sc://… (scripts/spark-notebooks.sh)
#     cluster      a worker is killed with -9 in the middle of a query, a fit and a streaming query, on a standalone cluster of two
set -euo pipefail
cd "$(dirname "$0")/.."

# on WITH COMMAND...: with a Kafka and a Spark
on() { scripts/kafka.sh with scripts/spark.sh "$@"; }

part() {
  case $1 in
  protocol) scripts/spark-protocol.sh check ;;
  server) on with bash -ec 'go test -count=1 -p 1 -timeout 30m ./spark/... ./stream; go test -C bench -count=1 -timeout 30m ./nexmark' ;;
  orphans) CANCHA_PROGRAM=$PWD/bin/cancha scripts/spark.sh with go test -count=1 -timeout 30m -run TestSparkOrphans ./kernel/kerneltest ;;
  notebooks) on with scripts/spark-notebooks.sh ;;
  cluster) on with-cluster go test -count=1 -timeout 30m -run TestCluster ./spark ;;
  *) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,9p >&2; exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- protocol server orphans notebooks cluster
for name; do
  begin=$SECONDS
  echo "== $name"
  part "$name"
  echo "== $name ok, $((SECONDS - begin)) s"
done
echo "== all ok, $SECONDS s"
