# What windows.sh and crash.sh share; they source it, with their own arguments, which are flags for the producer. It keeps:
# brokers (host:port), events (records produced), and ends what it started when the script ends.

cancha=${CANCHA:-bin/cancha}
checks=out/checks # Python environment of check_windows.py
matches=${MATCHES:-20}
more=("$@")
broker= producer= reader=

die() { echo "${0##*/}: $*" >&2; exit 1; }

cleanup() {
  local process
  for process in $reader $producer $broker; do
    kill "$process" 2>/dev/null || true
  done
  wait
}
trap cleanup EXIT

# need_check makes the environment of check_windows.py, once.
need_check() {
  [ "$checks/made" -nt scripts/requirements.txt ] && return
  "${PYTHON:-python3}" -m venv "$checks"
  "$checks/bin/pip" install --quiet --disable-pip-version-check -r scripts/requirements.txt
  touch "$checks/made"
}

# await SECONDS COMMAND... waits until a command succeeds.
await() {
  local left=$(($1 * 20))
  shift
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || die "waited in vain for: $*"
    sleep 0.05
  done
}

# start_broker DIR [ADDR] starts a broker on DIR/data, on a free port unless told which.
start_broker() {
  mkdir -p "$1/data"
  : >"$1/out"
  "$cancha" broker -data "$1/data" -addr "${2:-127.0.0.1:0}" >"$1/out" 2>>"$1/log" &
  broker=$!
  await 20 broker_ready "$1"
  brokers=$(sed -n 's/^broker at \([^,]*\),.*/\1/p' "$1/out")
  echo "== broker at $brokers"
}

broker_ready() {
  kill -0 "$broker" 2>/dev/null || die "the broker ended: $(tail -5 "$1/log")"
  grep -q '^broker at' "$1/out"
}

stop_broker() {
  kill "$broker"
  wait "$broker" || true
  broker=
}

# kill_broker ends the broker as a crash does.
kill_broker() {
  kill -9 "$broker"
  wait "$broker" 2>/dev/null || true
  broker=
}

# play FLAGS... plays the matches into the topic. The seed gives the order, which is not that of the dates, and with the
# kick-off fixed the records are the same every time, producer_timestamp aside. Where most matches of a folder lack carries,
# the seed decides whether the check sees any: it says how many.
play() {
  local data=()
  [ -z "${CANCHA_DATA:-}" ] || data=(-data "$CANCHA_DATA")
  "$cancha" producer -brokers "$brokers" "${data[@]}" -matches "$matches" -seed 7 -start 2026-03-01T15:00:00Z "${more[@]}" "$@"
}

# produce LOG FLAGS... plays the matches and sets events to how many records that gave.
produce() {
  local log=$1
  shift
  play "$@" >"$log" 2>&1 || die "the producer failed: $(tail -5 "$log")"
  tail -1 "$log"
  events=$(awk '/ done, / { print $1 }' "$log")
  [ "${events:-0}" -gt 0 ] || die "the producer sent nothing: $(tail -5 "$log")"
}

# statistics FOLDER runs notebook 03 over the topic into FOLDER.
statistics() {
  mkdir -p "$1"
  KAFKA_BROKERS=$brokers "$cancha" run --timeout 5m -p "events=$events" -p "out=$1" -o "$1/03.ipynb" \
    notebooks/03_streaming_statistics.ipynb
}

# total FOLDER NAME prints a number of the totals that the notebook has exported.
total() {
  "$checks/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["totals"][sys.argv[2]])' "$1/03_metrics.json" "$2"
}

# no_late FOLDER requires that all records were read and used.
no_late() {
  local name
  [ "$(total "$1" records)" = "$events" ] || die "read $(total "$1" records) records of $events"
  for name in late bad lost; do
    [ "$(total "$1" $name)" = 0 ] || die "$(total "$1" $name) records: $name"
  done
  echo "$events records read: none late, bad or lost"
}

# check FOLDER compares its windows.csv with the topic's records.
check() {
  "$checks/bin/python" scripts/check_windows.py --brokers "$brokers" --records "$events" "$1/windows.csv"
}
