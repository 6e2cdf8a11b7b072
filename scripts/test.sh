#!/usr/bin/env bash
# Runs tests, each part with a log in out/test. It goes on after a failure, so that one run tells all, and ends with each part's own closing lines.
#
#   scripts/test.sh PYTHON            "make test": all parts in short; what takes long is left to "make test-all"
#   scripts/test.sh PYTHON PART...    parts, whole
set -uo pipefail
cd "$(dirname "$0")/.."
python=${1:?which Python}
logs=out/test
export CANCHA_HISTORY=off # the cells of tests are nobody's history
rm -rf "$logs"
mkdir -p "$logs"
touch "$logs/parts"

part() { # part NAME COMMAND...: run it with its output in a log, which is shown where it failed
  local name=$1 begin=$SECONDS code=0
  shift
  "$@" > "$logs/$name.log" 2>&1 || code=$?
  echo "$name $code $((SECONDS - begin))" >> "$logs/parts"
  if [ "$code" -ne 0 ]; then
    echo "== $name FAILED after $((SECONDS - begin)) s"
    cat "$logs/$name.log"
  else
    echo "== $name ok, $((SECONDS - begin)) s"
  fi
}

formatted() {
  local bad
  bad=$(git ls-files -z '*.go' | xargs -0 gofmt -l) || return
  [ -z "$bad" ] || { echo "not formatted by gofmt:"; echo "$bad"; return 1; }
}

compiled() { # compiled FLAG...: the cell engine's tests of what cells mean, again with cells compiled
  if ! command -v "${CC:-gcc}" cc clang > /dev/null; then
    echo "0 Go tests: skipped, since there is no C compiler to link compiled cells with"
    return
  fi
  scripts/compiled.sh "$python" scripts/gotest.py "${short[@]}" "$@"
}

own_module() ( # bench/ is a module of its own, which nobody needs who builds or tests the program
  local program
  program=$(realpath -s "$python") && cd bench && go vet ./... && "$program" ../scripts/gotest.py -vet=off ./...
)

run() { # run PART
  case $1 in
  format) part format formatted ;;
  # -trimpath: what was compiled in another checkout is used again. It hides where Go is.
  vet) part vet go vet -trimpath ./... ;;
  # Packages and tests wait more than they compute, and those that wait most come first.
  go) part go env GOROOT="$(go env GOROOT)" CANCHA_SLOWEST="$logs/slowest.txt" "$python" scripts/gotest.py "${short[@]}" -trimpath -vet=off -p 4 -parallel 6 ./stream/... ./cmd/... ./... ;;
  bench) part bench own_module ;;
  # The archives load a thousand cells into one process, which is slow for what comes behind.
  cells) part cells compiled -run 'TestCells$' ;;
  sessions) part sessions compiled -skip 'TestCells$' ;;
  conformance)
    part conformance env CANCHA_PROGRAM="$PWD/bin/cancha" CANCHA_PYTHON="$(realpath -s "$python")" KERNELTEST_TABLE="$PWD/$logs/conformance.txt" \
      "$python" scripts/gotest.py "${short[@]}" -count=1 -run 'TestCancha$|TestCollector$|Libzmq$|TestInitialisation$' ./kernel/kerneltest
    ;;
  jobs) part jobs env CANCHA_PROGRAM="$PWD/bin/cancha" "$python" scripts/gotest.py -count=1 -run "TestFolderJobs|TestLocalModules" ./cmd/cancha ;; # a module's functions need an engine that compiles
  notebooks) part notebooks "$python" scripts/notebooks.py ${short:+--short} --out "$logs/notebooks" notebooks/*.ipynb ;;
  interpreted) part interpreted env CANCHA_ENGINE=interp "$python" scripts/notebooks.py --out "$logs/interpreted" notebooks/01_tour.ipynb notebooks/03_streaming_statistics.ipynb ;;
  suite) part suite "$python" kernel/kerneltest/test_cancha.py ;;
  output) part output "$python" scripts/server_limits.py burst displays interrupted ;;
  clients) part clients "$python" scripts/clients.py ;;
  papermill) part papermill env PYTHONPATH=jupyter/papermill "$python" -B jupyter/papermill/test_papermill_cancha.py ;;
  *) echo "$1 2 0" >> "$logs/parts"; echo "== there is no part $1" ;;
  esac
}

runs() { # runs PART...
  local name
  for name in "$@"; do run "$name"; done
}

short=()
if [ $# -gt 1 ]; then
  runs "${@:2}"
else
  short=(-short)
  runs format vet
  runs conformance notebooks suite clients papermill & beside=$! # these wait, for front ends and for records of a stream at their rate
  runs go cells sessions
  wait "$beside" || echo "beside 1 0" >> "$logs/parts" # a part that was never run has no line of its own
fi

echo
echo "== results"
cd "$logs"
grep -hE '^(ok|FAIL|---|panic:|[0-9]+ Go tests)' go.log bench.log cells.log sessions.log jobs.log 2> /dev/null
grep -hE '^(ok|FAIL) ' notebooks.log interpreted.log clients.log 2> /dev/null
grep -H WRONG output.log 2> /dev/null
tail -qn 1 conformance.txt conformance.log 2> /dev/null
tail -qn 3 suite.log 2> /dev/null
awk '{ printf "%s %d s, ", $1, $3 }' parts
echo "together $SECONDS s"
failed=$(awk '$2 != 0 { print $1 }' parts | xargs)
if [ -n "$failed" ]; then
  echo "FAILED: $failed"
  exit 1
fi
