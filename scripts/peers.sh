#!/usr/bin/env bash
# Streams beside Flink, Spark and DuckDB, from the same topics of a real Kafka, in turns on one machine: the statistics a minute of MINUTES (2000000)
# events, the queries of Nexmark of EVENTS (2000000) events, how long an event takes from its producer to a result, and what a checkpoint each second
# costs ours and Flink: sums of RECORDS (4000000) by KEYS (285000) keys, which are 100 MB of state in ours. The tables go to OUT/peers.md.
#
#   scripts/kafka.sh with scripts/peers.sh [minutes] [nexmark] [latency] [checkpoint]      the first three unless some are named
#
# checkpoint needs Flink alone, and takes eight minutes on 2 cores; TURNS (5) there is how often each runs with a checkpoint and without.
# KAFKA_HEAP=1g is a good heap for that Kafka. TURNS (2) is how often each peer runs a query, in one JVM: the table has the fastest and the first, and of ours and DuckDB's the median and the fastest.
# ENGINES (flink spark) are the peers that read the topic. Python 3.11, Java 17 and Maven; 3 GB in OUT (out/peers), of which the environments stay.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-out/peers} brokers=${CANCHA_KAFKA:?run it by scripts/kafka.sh with} minutes=${MINUTES:-2000000} events=${EVENTS:-2000000} turns=${TURNS:-2}
records=${RECORDS:-4000000} keys=${KEYS:-285000} pairs=${TURNS:-5}
read -ra engines <<<"${ENGINES:-flink spark}"
[ $# -gt 0 ] || set -- minutes nexmark latency
export GOMAXPROCS=2 # as many as the peers have
unset SPARK_HOME FLINK_HOME

missing() { echo "peers.sh: $*" >&2; exit 3; }

# environment makes the Python environment of a peer, unless it is there.
environment() {
  local requirements=bench/peers/requirements-$1.txt
  [ "$out/$1/made" -nt "$requirements" ] && return
  "${PYTHON:-python3}" -m venv "$out/$1" >&2 || missing "no Python with venv: install it, or name one in PYTHON"
  "$out/$1/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >&2 || missing "pip cannot install $requirements"
  touch "$out/$1/made"
}

# jars fetches a connector of Kafka from Maven Central: coordinates, folder, and whether with all that it needs.
jars() {
  [ -e "$2/complete" ] && return
  command -v mvn >/dev/null || missing "no mvn: install Maven"
  mkdir -p "$2"
  cat >"$2/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>cancha</groupId><artifactId>peers</artifactId><version>1</version>
  <dependencies><dependency>$1</dependency></dependencies>
</project>
POM
  (cd "$2" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DexcludeTransitive="$3" -DoutputDirectory=. >&2)
  touch "$2/complete"
}

# ready makes what the peers of some parts need, before anything is measured.
ready() {
  command -v java >/dev/null || missing "no java: install Java 17"
  jars '<groupId>org.apache.flink</groupId><artifactId>flink-sql-connector-kafka</artifactId><version>5.0.0-2.2</version>' "$out/flink-jar" true
  [[ " $* " != *" checkpoint "* ]] || environment flink
  [ "$*" != checkpoint ] || return 0
  for peer in duckdb "${engines[@]}"; do environment "$peer"; done
  # Spark has all of its connector but these four.
  jars '<groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId><version>4.0.0</version>' "$out/spark-all" false
  mkdir -p "$out/spark-jars"
  cp "$out"/spark-all/{spark-sql-kafka-,spark-token-provider-kafka-,kafka-clients-,commons-pool2-}*.jar "$out/spark-jars"
}

flink() {
  "$out/flink/bin/python" bench/peers/flink.py --jar "$out"/flink-jar/flink-sql-connector-kafka-*.jar --brokers "$brokers" --turns "$turns" "$@" 2>>"$out/flink.log" ||
    missing "Flink ended: see $out/flink.log"
}

spark() {
  "$out/spark/bin/python" bench/peers/spark.py --jars "$out/spark-jars" --brokers "$brokers" --turns "$turns" "$@" 2>>"$out/spark.log" ||
    missing "Spark ended: see $out/spark.log"
}

duckdb() { "$out/duckdb/bin/python" bench/peers/duckdb_file.py --turns "$turns" "$@"; }

same() { "${PYTHON:-python3}" bench/peers/same.py "$rows/minutes.csv" "$@"; }

run_minutes() {
  local topic=minutes-$minutes-$$ results=$out/minutes.jsonl rows=$out/minutes
  rm -rf "$rows"
  mkdir -p "$rows"
  "$out/ours" -brokers "$brokers" -topic "$topic" -events "$minutes" -file "$out/minutes.json" fill
  : >"$results"
  beside() { # DuckDB and ours in turns: a run takes two seconds, of which a neighbour can take one
    duckdb --file "$out/minutes.json" --events "$minutes" --rows "$rows" | tee -a "$results"
    for _ in 1 2 3; do "$out/ours" -brokers "$brokers" -topic "$topic" -events "$minutes" minutes | tee -a "$results"; done
  }
  for _ in 1 2 3 4 5 6 7 8; do # Kafka takes half the time for a topic once it has been read as often
    "$out/ours" -brokers "$brokers" -topic "$topic" -events "$minutes" -rows "$rows/minutes.csv" minutes >/dev/null
  done
  cat "$out/minutes.json" >/dev/null # into the page cache
  beside
  same duckdb "$rows/minutes-duckdb.csv"
  for peer in "${engines[@]}"; do
    "$peer" --topic "$topic" --queries minutes --events "$minutes" --rows "$rows/$peer" | tee -a "$results"
    same "$peer" "$rows/$peer"
    beside
  done
  rm -f "$out/minutes.json"
}

run_nexmark() {
  local topic=nexmark-$events-$$ results=$out/nexmark.jsonl i=0
  go build -C bench -o "$(realpath "$out")/nexmark" ./nexmark
  "$out/nexmark" -events "$events" -source kafka -brokers "$brokers" -topic "$topic" -fill -only q0
  : >"$results"
  ours() {
    "$out/nexmark" -events "$events" -source kafka -brokers "$brokers" -topic "$topic" -report "$out/nexmark-$i.json"
    cat "$out/nexmark-$i.json" >>"$results"
    i=$((i + 1))
  }
  ours
  for peer in "${engines[@]}"; do
    "$peer" --topic "$topic" --events "$events" | tee -a "$results"
    ours
  done
}

run_latency() {
  : >"$out/latency.jsonl"
  for query in latency scoring; do
    "$out/ours" -brokers "$brokers" -events 122880 $query | tee -a "$out/latency.jsonl"
  done
}

run_checkpoint() {
  local topic=keys-$records-$$ rows=$out/checkpoint ours
  rm -rf "$rows"
  mkdir -p "$rows"
  ours=("$out/ours" -brokers "$brokers" -topic "$topic" -events "$records" -keys "$keys")
  "${ours[@]}" keys
  for _ in 1 2; do "${ours[@]}" -rows "$rows/sums.csv" -checkpoint "$rows" sums >/dev/null; done # see run_minutes
  "$out/flink/bin/python" bench/peers/flink_checkpoint.py --jar "$out"/flink-jar/flink-sql-connector-kafka-*.jar --brokers "$brokers" --topic "$topic" --events "$records" \
    --folder "$rows" --rows "$rows/flink" --ours "$(printf '%q ' "${ours[@]}")" --turns "$pairs" 2>>"$out/flink.log" | tee "$out/checkpoint.jsonl" || missing "it ended: see $out/flink.log"
  "${PYTHON:-python3}" bench/peers/same.py "$rows/sums.csv" flink "$rows/flink"
}

for what; do
  [[ $what =~ ^(minutes|nexmark|latency|checkpoint)$ ]] || { echo "peers.sh: no $what; there are minutes, nexmark, latency and checkpoint" >&2; exit 2; }
done
mkdir -p "$out"
ready "$@"
go build -C bench -o "$(realpath "$out")/ours" ./peers
for what; do "run_$what"; done
"${PYTHON:-python3}" bench/peers/table.py "$out" "$@" >"$out/peers.md"
cat "$out/peers.md"
