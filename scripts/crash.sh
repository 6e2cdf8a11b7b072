#!/usr/bin/env bash
# Checks that notebook 03 survives its broker: the broker is away when the query starts, and is killed with -9 three times
# while matches are played into it and read. windows.csv must be, byte for byte, that of an undisturbed run over the same
# records from another broker, and the query must have reported that it tried again.
#
#   scripts/crash.sh [FLAGS...]                 kills "cancha broker -data"; FLAGS go to the producer
#   scripts/kafka.sh with scripts/crash.sh      kills an Apache Kafka
#
# The matches are played within SECONDS_TO_PLAY (36; 100 with an Apache Kafka, which takes seconds to start), so that the query
# reads again before the next kill: it waits up to 5 s between tries, and so does the producer. The other variables are those
# of windows.sh. What came out stays in out/crash.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/streams.sh

out=$PWD/out/crash
rm -rf "$out"
mkdir -p "$out"
need_check

# begin starts the broker that is to be killed, or starts it again; crash kills it.
if [ -n "${CANCHA_KAFKA_SH:-}" ]; then
  seconds=${SECONDS_TO_PLAY:-100}
  begin() { "$CANCHA_KAFKA_SH" start >/dev/null && echo "== Apache Kafka at $brokers"; }
  crash() { "$CANCHA_KAFKA_SH" kill; }
else
  seconds=${SECONDS_TO_PLAY:-36}
  begin() { start_broker "$out/broker" "$address"; }
  crash() { kill_broker; }
fi

# sent N: the producer says that it has come so far.
sent() { [ "$(awk '/ events / { n = $1 } END { print n + 0 }' "$out/producer.log")" -ge "$1" ]; }

now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }

# reported FOLDER TIME... requires that the query has tried again for each time that the broker went away, and that it has
# read records between these times: a kill while it waits for its next try would prove nothing.
reported() {
  "$checks/bin/python" - "$@" <<'PYTHON'
import json, sys
metrics, times = json.load(open(sys.argv[1] + "/03_metrics.json")), sys.argv[2:]
retries = metrics["totals"]["retries"]
print(f"the query tried again {retries} times")
faults = [f"the broker was away {len(times)} times"] if retries < len(times) else []
for begin, end in zip(times, times[1:]):
    rows = sum(p["numInputRows"] for p in metrics["progress"] if begin <= p["timestamp"] < end)
    print(f"{rows:6,} records read from {begin} to {end}")
    faults += ["nothing was read between two kills"] if rows == 0 else []
sys.exit("; ".join(faults) or 0)
PYTHON
}

same() {
  cmp "$1/windows.csv" "$2/windows.csv" || die "windows.csv differs: $1 and $2"
  echo "windows.csv of ${1##*/} and ${2##*/} are the same $(wc -c <"$1/windows.csv") bytes"
}

echo "== the records, written and read undisturbed"
start_broker "$out/calm-broker"
produce "$out/calm.log" -rate max
statistics "$out/calm"
no_late "$out/calm"
stop_broker

echo "== disturbed: the broker is away at start"
if [ -n "${CANCHA_KAFKA:-}" ]; then
  brokers=$CANCHA_KAFKA
  echo "== Apache Kafka at $brokers"
else
  start_broker "$out/broker"
  address=$brokers
fi
crash
away=("$(now)")
statistics "$out/disturbed" >"$out/disturbed.log" 2>&1 &
reader=$!
sleep 3 # the query is to meet no broker a few times; how often does not matter
kill -0 "$reader" 2>/dev/null || die "the notebook ended with its broker away: $(cat "$out/disturbed.log")"
begin
: >"$out/producer.log"
play -rate $((events / seconds + 1)) >"$out/producer.log" 2>&1 &
producer=$!
for quarter in 1 2 3; do
  await 300 sent $((events * quarter / 4))
  kill -0 "$reader" 2>/dev/null || die "the notebook ended early: $(cat "$out/disturbed.log")"
  crash
  away+=("$(now)")
  echo "== killed at $quarter/4: $(tail -1 "$out/producer.log")"
  sleep 1 # away long enough for a retry that fails
  begin
done
wait "$producer" || die "the producer failed: $(tail -5 "$out/producer.log")"
producer=
tail -1 "$out/producer.log"
wait "$reader" || die "the notebook failed: $(cat "$out/disturbed.log")"
reader=
no_late "$out/disturbed"
reported "$out/disturbed" "${away[@]}"

echo "== undisturbed, over the same topic"
statistics "$out/again"
no_late "$out/again"
same "$out/disturbed" "$out/again"
same "$out/disturbed" "$out/calm"
check "$out/disturbed"
