#!/usr/bin/env bash
# All tests, as "make test" runs them: sources, Go tests, those of the cell engine also with cells compiled, our own suite of the
# protocol on bin/cancha, notebooks, two of them interpreted too, the reference suite on the kernelspec that JUPYTER_PATH shows, much
# output through a Jupyter Server, and the clients that people use. What computes runs beside what mostly waits. Logs are in out/test.
# It goes on after a failure, so that one run tells all, and ends with each part's own closing lines.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${1:?which Python}
logs=out/test
export CANCHA_HISTORY=off # the cells of tests are nobody's history
rm -rf "$logs"
mkdir -p "$logs"

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

session='TestEmbed|TestMove|TestRunAgain|TestImportTakes|TestLeftCell|TestTypeMade|TestDroppedMethods|TestRefusedCellKeeps|TestShown|TestInterrupt$|TestErrorPositions|TestPanic|TestRefused|TestTypes|TestInput|TestCompiledCellsRunBeside|TestInterpretedCells|TestTests$|TestBench$|TestInterruptedTests|TestExitOfTests|TestDrawnByItself|TestCompleteInStrings|TestShortCellsRunApart|TestCompilerIs|TestDeclarationsNeed|TestWhatIsSlow|TestRoom$|TestStoppedCell|TestFunctionValues|TestPkgPath|TestShownNames|TestFuncNames|TestPrintRemarks|TestWaiting|TestRefusedCellWaits|While'

compiled() { # the cell engine's tests of what cells mean, again with cells compiled
  if ! command -v "${CC:-gcc}" cc clang > /dev/null; then
    echo "0 Go tests: skipped, since there is no C compiler to link compiled cells with"
    return
  fi
  scripts/compiled.sh "$python" scripts/gotest.py -run "$1"
}

computing() { # compiles cells, one after another
  part cells compiled 'TestCells$'
  part conformance env CANCHA_PROGRAM="$PWD/bin/cancha" CANCHA_PYTHON="$(realpath -s "$python")" KERNELTEST_TABLE="$PWD/$logs/conformance.txt" \
    "$python" scripts/gotest.py -count=1 -run 'TestCancha$|TestCollector$|TestFakeEngineLibzmq$|TestFakeEngineEncryptedLibzmq$|TestInitialisation$' ./kernel/kerneltest
  part jobs env CANCHA_PROGRAM="$PWD/bin/cancha" "$python" scripts/gotest.py -count=1 -run "TestFolderJobs|TestLocalModules" ./cmd/cancha # a module's functions need an engine that compiles
}

waiting() { # for front ends, for records of a stream at their rate, for the limits of a server
  part notebooks "$python" scripts/notebooks.py --out "$logs/notebooks" notebooks/*.ipynb
  part interpreted env CANCHA_ENGINE=interp "$python" scripts/notebooks.py --out "$logs/interpreted" notebooks/01_tour.ipynb notebooks/03_streaming_statistics.ipynb
  part sessions compiled "$session"
  part suite "$python" kernel/kerneltest/test_cancha.py
  part output "$python" scripts/server_limits.py burst displays interrupted
  part clients "$python" scripts/clients.py
  part papermill env PYTHONPATH=jupyter/papermill "$python" -B jupyter/papermill/test_papermill_cancha.py
}

part format formatted
# -trimpath: what was compiled in another checkout is used again. It hides where Go is.
part vet go vet -trimpath ./...
part go env GOROOT="$(go env GOROOT)" "$python" scripts/gotest.py -trimpath ./...
waiting & beside=$!
computing
wait "$beside" || echo "waiting 1 0" >> "$logs/parts" # a part that was never run has no line of its own

echo
echo "== results"
grep -E '^(ok|FAIL|---|panic:|[0-9]+ Go tests)' "$logs/go.log"
grep -hE '^(ok|FAIL|---|panic:|[0-9]+ Go tests)' "$logs/cells.log" "$logs/sessions.log"
grep -hE '^(ok|FAIL) ' "$logs/notebooks.log" "$logs/interpreted.log" "$logs/clients.log"
grep -H WRONG "$logs/output.log"
tail -n 1 "$logs/conformance.txt"
tail -n 1 "$logs/conformance.log"
tail -n 3 "$logs/suite.log"
awk '{ printf "%s %d s, ", $1, $3 }' "$logs/parts"
echo "together $SECONDS s"
failed=$(awk '$2 != 0 { print $1 }' "$logs/parts" | xargs)
if [ -n "$failed" ]; then
  echo "FAILED: $failed"
  exit 1
fi
