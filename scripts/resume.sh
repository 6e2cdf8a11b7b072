#!/usr/bin/env bash
# Checks that notebooks 03 and 04 go on after an end of any kind: with the parameter checkpoint, their kernel is killed with -9 in the middle, they are
# stopped, their events come in two portions, and a second process joins their group and is killed. What they write must be, byte for byte,
# what an undisturbed run writes.
#
#   scripts/resume.sh [FLAGS...]                 on a "cancha broker"; FLAGS go to the producer
#   scripts/kafka.sh with scripts/resume.sh      on an Apache Kafka
#
# KILLS is how often (3); NOTEBOOKS which ("03 04"; 04 needs a model, which NOTEBOOK 02 saves: notebooks/models/lwp_model or MODEL). The
# other variables are those of windows.sh. What came out stays in out/resume.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/streams.sh

out=$PWD/out/resume
kills=${KILLS:-3}
rate=${RATE:-3500} # events a second, while kernels are killed
model=${MODEL:-$PWD/notebooks/models/lwp_model}
rm -rf "$out"
mkdir -p "$out"

declare -A notebook=([03]=notebooks/03_streaming_statistics.ipynb [04]=notebooks/04_streaming_inference.ipynb)
declare -A result=([03]=windows.csv [04]=predictions.csv)

# run NUMBER FOLDER PARAMETERS... runs a notebook into FOLDER.
run() {
  local number=$1 folder=$2
  shift 2
  mkdir -p "$folder"
  local parameters=(-p "out=$folder")
  [ "$number" = 03 ] || parameters+=(-p "model=$model")
  for p in "$@"; do parameters+=(-p "$p"); done
  KAFKA_BROKERS=$brokers "$cancha" run --timeout 5m "${parameters[@]}" -o "$folder/$number.ipynb" "${notebook[$number]}" >"$folder/log" 2>&1
}

# below PID prints all processes that it has started, and those that these have.
below() {
  local child
  for child in $(pgrep -P "$1"); do
    echo "$child"
    below "$child"
  done
}

# engine PID prints the engine below a "cancha run": the process that holds the query.
engine() {
  local process
  for process in $(below "$1"); do
    if tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | grep -q ' engine '; then
      echo "$process"
      return
    fi
  done
}

# snapshots FOLDER prints the number of the newest snapshot in it.
snapshots() { find "$1" -name '*.snapshot' 2>/dev/null | sed 's/.*\///; s/\..*//' | sort -n | tail -1 | sed 's/^0*//' || true; }

# further FOLDER NUMBER: the newest snapshot in it has a higher number.
further() { [ "$(snapshots "$1")" != "" ] && [ "$(snapshots "$1")" -gt "$2" ]; }

# further_or_gone FOLDER NUMBER PID: it has, or the process has ended, or the reader beside it, so that no snapshot comes any more.
further_or_gone() { further "$1" "$2" || gone "$3" || { [ -n "$reader" ] && gone "$reader"; }; }

# killed NUMBER FOLDER PARAMETERS... begins a notebook, and kills its engine when it has taken a few snapshots more.
killed() {
  local number=$1 folder=$2 place before
  place=$(printf '%s\n' "${@:3}" | sed -n 's/^checkpoint=//p')
  before=$(snapshots "$place")
  run "$@" &
  local of=$! victim
  await 60 further_or_gone "$place" $((${before:-0} + 1 + RANDOM % 3)) "$of"
  victim=$(engine "$of")
  if [ -z "$victim" ] || ! kill -9 "$victim" 2>/dev/null; then
    echo "  it had ended by itself"
  fi
  kill "$of" 2>/dev/null || true # the kernel would begin another engine
  wait "$of" 2>/dev/null || true
  echo "  killed at snapshot $(snapshots "$place")"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

same() { # same NUMBER FOLDER: what it has written is what the undisturbed run has
  cmp "$out/$1-calm/${result[$1]}" "$2/${result[$1]}" || die "$1: ${result[$1]} of ${2##*/} differs from that of an undisturbed run"
  echo "  ${result[$1]}: the same $(wc -c <"$2/${result[$1]}") bytes"
}

# fresh FOLDER has a broker without records; play_slowly plays the matches into it beside what follows.
fresh() {
  if [ -n "${CANCHA_KAFKA_SH:-}" ]; then
    "$CANCHA_KAFKA_SH" fresh >/dev/null
    brokers=$CANCHA_KAFKA
    return
  fi
  [ -z "$broker" ] || stop_broker
  start_broker "$1"
}

play_slowly() { # RATE
  play -rate "$1" >"$out/producer.log" 2>&1 &
  producer=$!
}

played() {
  wait "$producer"
  producer=
}

fresh "$out/broker-calm"
produce "$out/producer.log" -rate max
half=$((events / 2))
for n in ${NOTEBOOKS:-03 04}; do
  echo "== $n, undisturbed"
  run "$n" "$out/$n-calm" "events=$events" || die "$n: $(tail -5 "$out/$n-calm/log")"
done

for n in ${NOTEBOOKS:-03 04}; do
  for group in "" "killed-$n"; do
    echo "== $n killed $kills times, group ${group:-none}"
    folder=$out/$n-killed-$group
    fresh "$folder/broker"
    play_slowly "$rate"
    for _ in $(seq "$kills"); do
      killed "$n" "$folder" "events=$events" "checkpoint=$folder/snapshots" "group=$group"
    done
    run "$n" "$folder" "events=$events" "checkpoint=$folder/snapshots" "group=$group" || die "$n: $(tail -5 "$folder/log")"
    played
    same "$n" "$folder"
  done

  echo "== $n in two portions, a stop in each, a second process beside the second"
  folder=$out/$n-portions
  fresh "$folder/broker"
  play_slowly $((rate / 3)) # so that the second process has come before all is read
  parameters=("checkpoint=$folder/snapshots" "group=portions-$n")
  run "$n" "$folder" "events=$half" "${parameters[@]}" || die "$n: $(tail -5 "$folder/log")"
  before=$(snapshots "$folder/snapshots")
  run "$n" "$folder" "events=$((events - half))" "${parameters[@]}" &
  reader=$!
  # the second process counts for the first where that has begun to
  await 60 further_or_gone "$folder/snapshots" $((before + 3)) "$reader"
  killed "$n" "$folder-second" "events=0" "${parameters[@]}"
  ! gone "$reader" || die "$n: all was read before the second process was killed: give a smaller RATE"
  await 120 gone "$reader"
  reader=
  played
  same "$n" "$folder"
done
echo "resume.sh: all the same"
