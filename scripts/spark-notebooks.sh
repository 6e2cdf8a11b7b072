#!/usr/bin/env bash
# The notebooks with -p master=sc://…: on a Spark and a Kafka that run already, beside runs of the same here over the same topics. What both give is
# compared: counts exactly, other numbers to 1e-9. A window that the watermark has not passed is open on Spark, and may lack a row there.
#
#   KAFKA_HEAP=512m scripts/kafka.sh with scripts/spark.sh with scripts/spark-notebooks.sh [NUMBER...]
#
# CANCHA_SPARK and CANCHA_KAFKA name the two; NUMBER is 02, 03, 04, 06 or 07, by default all that have a parameter master. MATCHES (4) is how many are
# played, TIMEOUT (10m) how long a notebook may take. The notebooks that were run, and their rows, are left in out/spark-notebooks.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "spark-notebooks.sh: $*" >&2; exit 1; }
[ -n "${CANCHA_SPARK:-}" ] && [ -n "${CANCHA_KAFKA:-}" ] ||
  die "CANCHA_SPARK and CANCHA_KAFKA name no servers: KAFKA_HEAP=512m scripts/kafka.sh with scripts/spark.sh with $0"
cancha=${CANCHA:-bin/cancha}
[ -x "$cancha" ] || die "no $cancha: make build"
out=$PWD/out/spark-notebooks
rm -rf "$out"
mkdir -p "$out"
export KAFKA_BROKERS=$CANCHA_KAFKA
unset CANCHA_MASTER

# run NUMBER WHERE MASTER PARAMETERS... runs a notebook into the folder NUMBER-WHERE.
run() {
  local number=$1 where=$2 master=$3 place=$out/$1-$2 began=$SECONDS
  shift 3
  mkdir -p "$place"
  "$cancha" run --timeout "${TIMEOUT:-10m}" -p "master=$master" "$@" -o "$place/run.ipynb" notebooks/"$number"_*.ipynb >"$place/log" 2>&1 ||
    die "notebook $number $where: $(tail -25 "$place/log")"
  echo "ok   $number $where, $((SECONDS - began)) s"
}

# both NUMBER PARAMETERS... runs it here and on Spark.
both() {
  local number=$1
  shift
  run "$number" here 'local[*]' -p "out=$out/$number-here" "$@"
  run "$number" spark "$CANCHA_SPARK" -p "out=$out/$number-spark" "$@"
}

# compare KIND NUMBER FILE MORE... compares a file of both runs.
compare() { python3 scripts/spark_rows.py "$1" "$out/$2-here/$3" "$out/$2-spark/$3" "${@:4}"; }

# played fills the topic of matches, once, and sets events to how many records that gave.
events=
played() {
  [ -z "$events" ] || return 0
  "$cancha" producer -brokers "$CANCHA_KAFKA" -matches "${MATCHES:-4}" -seed 7 -start 2026-03-01T15:00:00Z >"$out/producer" 2>&1 ||
    die "the producer failed: $(tail -5 "$out/producer")"
  events=$(awk '/ done, / { print $1 }' "$out/producer")
  [ "${events:-0}" -gt 0 ] || die "the producer sent nothing: $(tail -5 "$out/producer")"
}

notebook_03() {
  played
  both 03 -p "events=$events"
  compare rows 03 windows.csv --keys match_id,team_id,window_start --order window_start
}

# The scoring stays here in both runs. Its model is that of notebook 02.
notebook_04() {
  played
  [ -e notebooks/models/lwp_model ] || "$cancha" run --timeout 10m -o "$out/02.ipynb" notebooks/02_train_lwp.ipynb >"$out/02.log" 2>&1 ||
    die "notebook 02, whose model 04 asks: $(tail -25 "$out/02.log")"
  both 04 -p "events=$events"
  compare rows 04 predictions.csv --keys match_id,event_time,period,timestamp,p_home,p_draw
  compare cells 04 run.ipynb 04-sums
}

# With an hour of delay no order comes late: which are depends on where Spark's batches end.
notebook_06() {
  both 06 -p delay=time.Hour -p events=12000 -p rate=0
  compare rows 06 sales.csv --keys city,window_start,window_end --order window_end --estimate median
  compare rows 06 top_ten.csv --keys name,window_start,window_end --order window_end
  compare rows 06 unpaid.csv --keys order --order created
  compare cells 06 run.ipynb c18 --width 80 # behind that stand examples, each the first of its kind in a topic that each run writes anew
  compare cells 06 run.ipynb c20
}

# What these compare they compare themselves.
notebook_02() { run 02 spark "$CANCHA_SPARK"; }
notebook_07() { run 07 spark "$CANCHA_SPARK"; }

numbers=("$@")
[ $# -gt 0 ] || mapfile -t numbers < <(grep -l '"master := ' notebooks/*.ipynb | sed -n 's:notebooks/\([0-9]*\)_.*:\1:p')
for number in "${numbers[@]}"; do
  declare -F "notebook_$number" >/dev/null || die "notebook $number has a parameter master, and nothing here runs it: write notebook_$number"
  "notebook_$number"
done
echo "spark-notebooks.sh: ${numbers[*]} give the same here and on Spark"
