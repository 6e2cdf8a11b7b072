#!/usr/bin/env bash
# A Spark Connect server (loopback only) for tests: Java 17, Maven and Python's pip, no Docker. It is a Spark of its own in one process (local[2]), or
# the driver of a standalone cluster: a master and two workers of one core each.
#
#   scripts/spark.sh with COMMAND...           start one, run COMMAND with CANCHA_SPARK=sc://…, its connection string with a token, and
#                                              CANCHA_SPARK_SH, this script, and stop it
#   scripts/spark.sh with-cluster COMMAND...   the same on a cluster, with CANCHA_SPARK_CLUSTER, the number of its workers
#   scripts/spark.sh start | stop              one that stays; start prints CANCHA_SPARK=sc://…
#   scripts/spark.sh kill                      kill the server with -9 (start starts another at the same address)
#   scripts/spark.sh pause | resume            stop its process for a while (SIGSTOP), and have it go on
#   scripts/spark.sh kill-worker N             kill a worker of the cluster, 1 or 2, and its executors with -9, as if its machine were lost
#   scripts/spark.sh start-worker N            start it again
#   scripts/spark.sh fetch                     get what is needed into the user's cache (0.5 GB), once, and no more
#
# SPARK_VERSION (4.0.0, also of its connector for Kafka), SPARK_PORT (15102; the master, the pages and the workers
# have those behind it), SPARK_MEM (1g, of the server), SPARK_CORES (2, of local), SPARK_CLUSTER (how many workers; none), SPARK_TOKEN, SPARK_DIR (logs,
# warehouse, checkpoints; below TMPDIR), SPARK_EXTRA ("--conf key=value ...")
set -euo pipefail

version=${SPARK_VERSION:-4.0.0}
port=${SPARK_PORT:-15102}
workers=${SPARK_CLUSTER:-0}
token=${SPARK_TOKEN:-token-for-tests}
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
dir=${SPARK_DIR:-${TMPDIR:-/tmp}/cancha-spark-$port}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cancha/spark-$version
home=$cache/lib/pyspark
master=spark://127.0.0.1:$((port + 1))
# shellcheck source=scripts/daemon.sh
. "$(dirname "$self")/daemon.sh"

die() { echo "spark.sh: $*" >&2; exit 1; }
missing() { echo "spark.sh: $*" >&2; exit 3; }

# fetch takes Spark from PyPI, whose package holds all its jars, and from Maven Central the connector for Kafka with what Spark lacks for it.
fetch() {
  [ -e "$cache/complete" ] && return
  command -v mvn >/dev/null || missing "no mvn: install Maven"
  command -v java >/dev/null || missing "no java: install Java 17 or newer"
  command -v "${PYTHON:-python3}" >/dev/null || missing "no python3"
  echo "spark.sh: fetching Apache Spark $version from PyPI and its connector for Kafka from Maven Central" >&2
  rm -rf "$cache"
  mkdir -p "$cache/kafka"
  "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$cache/lib" "pyspark==$version"
  cat >"$cache/kafka/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>cancha</groupId><artifactId>spark-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  (cd "$cache/kafka" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib \
    -DincludeArtifactIds=spark-sql-kafka-0-10_2.13,spark-token-provider-kafka-0-10_2.13,kafka-clients,commons-pool2)
  [ "$(ls "$cache/kafka/lib" | wc -l)" -eq 4 ] || die "not the four jars of the connector: $(ls "$cache/kafka/lib")"
  touch "$cache/complete"
}

# run NAME PROGRAM...: start a part of Spark, whose program becomes the JVM. Pages and executors listen where SPARK_LOCAL_IP says.
run() {
  launch "$1" env SPARK_HOME="$home" SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="${PYTHON:-python3}" "$home/bin/$2" "${@:3}"
}

# cluster starts master and workers. They have registered when it returns.
cluster() {
  run master spark-class org.apache.spark.deploy.master.Master -h 127.0.0.1 -p $((port + 1)) --webui-port $((port + 2))
  await master 'I have been elected leader' 60
  for n in $(seq "$workers"); do worker "$n"; done
}

worker() {
  alive "worker-$1" && die "worker $1 already runs"
  run "worker-$1" spark-class org.apache.spark.deploy.worker.Worker -h 127.0.0.1 -p $((port + 2 + 2 * $1)) --webui-port $((port + 3 + 2 * $1)) \
    -c 1 -m 1g -d "$dir/work-$1" "$master"
}

start() {
  alive server && die "already running in $dir"
  fetch
  mkdir -p "$dir"
  local begin=$EPOCHREALTIME on="local[${SPARK_CORES:-2}]" lost=""
  if [ "$workers" -gt 0 ]; then
    on=$master
    lost="--conf spark.shuffle.io.retryWait=500ms" # how long to ask a worker for rows again that may be lost: 5 s by default, several times
    alive master || cluster
  fi
  # shellcheck disable=SC2086 # the extras are words
  run server spark-submit --class org.apache.spark.sql.connect.service.SparkConnectServer --name cancha \
    --master "$on" --driver-memory "${SPARK_MEM:-1g}" --jars "$(printf '%s\n' "$cache"/kafka/lib/*.jar | paste -sd,)" \
    --conf spark.connect.grpc.binding.address=127.0.0.1 --conf spark.connect.grpc.binding.port="$port" \
    --conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 --conf spark.ui.port=$((port + 3)) --conf spark.ui.showConsoleProgress=false \
    --conf spark.connect.authenticate.token="$token" --conf spark.sql.shuffle.partitions=2 --conf spark.sql.session.timeZone=UTC \
    --conf spark.sql.warehouse.dir="$dir/warehouse" $lost ${SPARK_EXTRA:-} spark-internal
  await server 'Spark Connect server started' 120
  [ "$workers" -eq 0 ] || await master 'Registering worker' 60 "$workers"
  awk -v a="$begin" -v b="$EPOCHREALTIME" -v on="$on" 'BEGIN { printf "spark.sh: a Spark Connect server on %s after %.1f s\n", on, b - a }' >&2
}

stop() {
  end server
  local pid
  for pid in "$dir"/worker-*.pid; do # all there are: whoever stops them need not say SPARK_CLUSTER again
    [ ! -e "$pid" ] || end "$(basename "$pid" .pid)"
  done
  end master
}

url() { echo "sc://127.0.0.1:$port/;token=$token"; }

with() {
  [ $# -gt 0 ] || die "with: which command?"
  alive server && die "already running in $dir: stop it first"
  rm -rf "$dir"
  trap stop EXIT
  start
  if [ "$workers" -gt 0 ]; then export SPARK_CLUSTER=$workers CANCHA_SPARK_CLUSTER=$workers; fi
  CANCHA_SPARK=$(url) CANCHA_SPARK_UI=http://127.0.0.1:$((port + 3)) CANCHA_SPARK_SH=$self "$@"
}

case "${1:-} ${2:-}" in
"with "*) with "${@:2}" ;;
"with-cluster "*)
  [ "$workers" -gt 0 ] || workers=2
  with "${@:2}"
  ;;
"start ") start; echo "CANCHA_SPARK=$(url)" ;;
"stop ") stop ;;
"kill ") crash server ;;
"pause ") signal server STOP ;;
"resume ") signal server CONT ;;
"kill-worker "[1-9]) crash "worker-$2" ;;
"start-worker "[1-9]) worker "$2" ;;
"fetch ") fetch ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,17p >&2; exit 2 ;;
esac
