#!/usr/bin/env bash
# What takes too long for "make test". Each part has a log in out/test-all and a closing line; a failure does not stop the others.
#
#   scripts/test-all.sh all [NAME...]      "every part, or those named: three hours
#   scripts/test-all.sh short NAME...      the short form of parts: minutes each
#   scripts/test-all.sh rotation SEED      one of the whole parts of "make test", and the short form of another part: SEED chooses them, any word; .ci/run gives the commit
#
# A part is skipped, with the reason, where it ends with 3: something that it needs is missing. Exit 1 if any has failed.
set -uo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT
logs=out/test-all

# name | whole | short. A short form must end alike on a slow and busy machine, since nothing is taken while .ci/run is red: its seeds
# are fixed, and where it looks at a clock (conformance, survive) that has been seen to hold at a load of 7. "-" says why a part has none.
# A rotation is one of the first four, which "make test" has in short, and one of the others.
parts='
go               | make whole PARTS="go bench"      | make whole PARTS="go bench"
sessions         | make whole PARTS=sessions        | make whole PARTS=sessions
cells            | make whole PARTS=cells           | make whole PARTS=cells
fronts           | make whole PARTS="conformance jobs notebooks interpreted output" | make whole PARTS="conformance jobs notebooks interpreted output"
test             | make test                        | - .ci/run always runs it
again            | make again N=3                   | - hours
conformance      | make conformance RACE=1          | make conformance RACE=1 CELLS=kernel/eval/testdata/errors.txt
windows          | make windows                     | make windows
output           | make output                      | make output NAMES="quotes updates animation \"written below\" \"too much\""
crash            | make crash                       | make crash
conformance-go   | make conformance-go FLAGS="-mode auto,interp,native -n 300 -seed 2" | make conformance-go FLAGS="-mode native -n 60 -seed 2 -mutants 10 -limit 90s"
places           | make places                      | make places
toolchain        | make toolchain                   | make toolchain
release-test     | make release-test                | make release-test
lint             | make lint                        | make lint
vulnerabilities  | make vulnerabilities             | - its list is not reached from everywhere
dist-test        | make dist-test                   | make dist-test FORM=full
survive          | make survive                     | make survive
conformance-tree | make conformance-go              | - half an hour
faults           | make faults                      | - two minutes, and interrupts a hundred cells
stress           | make stress                      | - of 20 runs at a load of 7 one ended with its kernel, and it is not known why
soak             | make soak SOAK=30m               | - judges heartbeats by the millisecond, memory by megabytes
cells-soak       | make cells-soak                  | - compares the times of cells
nexmark          | make nexmark                     | - fetches DuckDB
endless          | make endless                     | - judges memory by megabytes
fuzz             | make fuzz                        | - what it finds is left to chance
modules          | make modules                     | - imports the newest versions, which change
parquet          | make parquet                     | - fetches pyarrow and DuckDB
onnx             | make onnx                        | make onnx
mllib            | make mllib                       | - fetches PySpark
postgres         | make postgres                    | - needs a PostgreSQL
docker           | make docker                      | - ten minutes and 12 GB
kubernetes       | make kubernetes                  | make kubernetes
integration      | make integration                 | - fetches Apache Kafka
integration-rabbitmq | make integration-rabbitmq    | - .ci/run always runs it
integration-spark | make integration-spark          | - fetches Apache Spark, 465 MB
clients          | make clients                     | - "make test" runs all of it but JupyterLab, which needs Chromium
widgets          | make widgets                     | - needs Chromium
page             | make page                        | - needs Chromium
chaos            | make chaos                       | - its short form is a Go test
jobs-chaos       | make jobs-chaos                  | - its short form is a Go test
jobs-local       | make jobs-local                  | - its short form is a Go test
resume           | make resume                      | - needs a model, which "make demo" trains; minutes of playing at a rate
demo             | make demo                        | - .ci/run always runs 5,000 records of it
cuda-test        | make cuda-test                   | make cuda-test
'

column() { # column NUMBER NAME: of the table
  awk -F ' *[|] *' -v name="$2" -v column="$1" '$1 == name { print $column }' <<< "$parts"
}

run() { # run NAME COMMAND
  local log=$logs/$1.log begin=$SECONDS code=0
  echo "== $1: $2"
  bash -c "$2" > "$log" 2>&1 < /dev/null || code=$?
  [ "$code" -ne 2 ] || ! tail -n 3 "$log" | grep -q '^make.* Error 3$' || code=3 # make ends with 2, and says with what its command did
  case $code in
  0)
    ok=$((ok + 1))
    grep -E '^skip|[|] skipped' "$log"
    echo "== $1 ok, $((SECONDS - begin)) s"
    ;;
  3)
    skipped=$((skipped + 1))
    grep -v '^make' "$log" | tail -n 1
    echo "== $1 skipped, $((SECONDS - begin)) s"
    ;;
  *)
    failed+=("$1")
    tail -n 200 "$log"
    echo "== $1 FAILED after $((SECONDS - begin)) s; the end of $log is above"
    ;;
  esac
}

rotate() { # rotate SEED: sets names to one of the first four parts and one of the others that have a short form
  local all sum
  mapfile -t all < <(awk -F ' *[|] *' '$3 ~ /^[^-]/ { print $1 }' <<< "$parts")
  read -r sum _ < <(cksum <<< "$1")
  names=("${all[sum % 4]}" "${all[4 + sum / 4 % (${#all[@]} - 4)]}")
  echo "== rotation of $1; again: ${CANCHA_DATA:+CANCHA_DATA=$CANCHA_DATA }scripts/test-all.sh short ${names[*]}"
}

form=2
case "${1:-} $#" in
"all "*)
  names=("${@:2}")
  [ $# -gt 1 ] || mapfile -t names < <(awk 'NF { print $1 }' <<< "$parts")
  ;;
"short "[2-9]*) names=("${@:2}") form=3 ;;
"rotation 2") rotate "$2"; form=3 ;;
*)
  sed -n 's/^# \{0,1\}//p' "$0" | sed -n 4,6p >&2
  exit 2
  ;;
esac

commands=()
for name in "${names[@]}"; do
  command=$(column $form "$name")
  case $command in
  "") echo "test-all.sh: there is no part $name" >&2; exit 2 ;;
  -*) echo "test-all.sh: $name has no short form: ${command#- }" >&2; exit 2 ;;
  esac
  commands+=("$command")
done
mkdir -p "$logs"
ok=0 skipped=0 failed=()
for i in "${!names[@]}"; do
  run "${names[i]}" "${commands[i]}"
done
echo "== $ok ok, $skipped skipped, ${#failed[@]} failed, together $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
