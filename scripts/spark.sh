#!/usr/bin/env bash
# A Spark Connect server (loopback only, local[2]) for tests: Java 17, Maven and Python's pip, no Docker.
#
#   scripts/spark.sh with COMMAND...   start one, run COMMAND with CANCHA_SPARK=sc://…, its connection string with a token,
#                                      and CANCHA_SPARK_SH, this script, and stop it
#   scripts/spark.sh start             start one that stays; prints CANCHA_SPARK=sc://…
#   scripts/spark.sh stop              stop it
#   scripts/spark.sh kill              kill it with -9 (start starts another at the same address)
#   scripts/spark.sh pause|resume      stop its process for a while (SIGSTOP), and have it go on
#   scripts/spark.sh fetch             get what is needed into the user's cache (0.5 GB), once, and no more
#
# SPARK_VERSION (4.0.0: the newest whose connector for Kafka is complete in Maven Central), SPARK_PORT (15102), SPARK_MEM (1g),
# SPARK_CORES (2), SPARK_TOKEN, SPARK_DIR (log, warehouse, checkpoints; below TMPDIR), SPARK_EXTRA ("--conf key=value ...")
set -euo pipefail

version=${SPARK_VERSION:-4.0.0}
port=${SPARK_PORT:-15102}
token=${SPARK_TOKEN:-token-for-tests}
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
dir=${SPARK_DIR:-${TMPDIR:-/tmp}/cancha-spark-$port}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cancha/spark-$version
home=$cache/lib/pyspark

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

alive() { [ -e "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; }

start() {
  alive && die "already running in $dir"
  fetch
  mkdir -p "$dir"
  # setsid and closed descriptors: the server outlives the shell and holds nothing of it. spark-submit becomes the JVM.
  (
    cd "$dir"
    export SPARK_HOME=$home SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=${PYTHON:-python3}
    # shellcheck disable=SC2086 # the extras are words
    exec setsid "$home/bin/spark-submit" --class org.apache.spark.sql.connect.service.SparkConnectServer --name cancha \
      --master "local[${SPARK_CORES:-2}]" --driver-memory "${SPARK_MEM:-1g}" --jars "$(printf '%s\n' "$cache"/kafka/lib/*.jar | paste -sd,)" \
      --conf spark.connect.grpc.binding.address=127.0.0.1 --conf spark.connect.grpc.binding.port="$port" \
      --conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false \
      --conf spark.connect.authenticate.token="$token" --conf spark.sql.shuffle.partitions=2 --conf spark.sql.session.timeZone=UTC \
      --conf spark.sql.warehouse.dir="$dir/warehouse" ${SPARK_EXTRA:-} spark-internal
  ) >"$dir/log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  echo $! >"$dir/pid"
  disown # its end is no news for the shell, kill -9 is one of its uses
  # Spark prints this line when it serves.
  for _ in $(seq 1200); do
    grep -q 'Spark Connect server started' "$dir/log" && return
    alive || die "Spark ended: $(tail -20 "$dir/log")"
    sleep 0.1
  done
  stop
  die "Spark did not start within 120 s: $(tail -20 "$dir/log")"
}

stop() {
  alive || return 0
  local pid
  pid=$(cat "$dir/pid")
  kill -CONT "$pid"
  kill "$pid"
  for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || { rm -f "$dir/pid"; return; }
    sleep 0.1
  done
  kill -9 "$pid"
  rm -f "$dir/pid"
}

url() { echo "sc://127.0.0.1:$port/;token=$token"; }

case "${1:-}" in
with)
  shift
  [ $# -gt 0 ] || die "with: which command?"
  alive && die "already running in $dir: stop it first"
  rm -rf "$dir"
  trap stop EXIT
  start
  CANCHA_SPARK=$(url) CANCHA_SPARK_SH=$self "$@"
  ;;
start) start; echo "CANCHA_SPARK=$(url)" ;;
stop) stop ;;
kill) alive || die "not running"; kill -9 "$(cat "$dir/pid")"; rm -f "$dir/pid" ;;
pause) alive || die "not running"; kill -STOP "$(cat "$dir/pid")" ;;
resume) alive || die "not running"; kill -CONT "$(cat "$dir/pid")" ;;
fetch) fetch ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,13p >&2; exit 2 ;;
esac
