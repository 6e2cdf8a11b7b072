#!/usr/bin/env bash
# Runs every fuzz test of the module for the given time, one after the other: the go command takes one at a time. FUZZ, a
# regular expression, chooses among "folder name". Where the engine that compiles cells has been built (make kernelspec), the
# tests of kernel/eval compile some of their cells.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long, such as 30s}
found=0
compiled=()
if [ -x bin/cancha ] && folder=$(bin/cancha doctor -workspace 2>/dev/null); then
  export CANCHA_WORKSPACE=$folder CGO_ENABLED=1 GOFLAGS=''
  mended=-overlay=$folder/overlay.json # package runtime as the workspace has it (kernel/workspace/runtime.go)
  [ -e "$folder/overlay.json" ] || mended=-gcflags=runtime=-l
  compiled=(-trimpath -buildvcs=false "$mended" -tags workspace)
fi

# fuzz runs one test. Before Go 1.27 it may end with "context deadline exceeded" as its time is over, without an input that failed
# (go.dev/issue/75804): that is no finding.
fuzz() {
  local out=$work/out rc=0
  go test "${@:3}" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1s "$1" 2>&1 | tee "$out" || rc=$?
  [ "$rc" -eq 0 ] && return
  grep -q 'context deadline exceeded' "$out" && ! grep -qE 'Failing input|panic:|_test\.go:|DATA RACE|race detected' "$out" && echo "fuzz.sh: $2: time was over in the middle of an input, none failed" && return
  return "$rc"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while IFS=: read -r file name; do
  folder=$(dirname "$file")
  [[ "$folder $name" =~ ${FUZZ:-.} ]] || continue
  found=$((found + 1))
  echo "== $folder $name"
  tags=()
  [[ $folder == kernel/eval* ]] && tags=("${compiled[@]}")
  fuzz "./$folder" "$name" "${tags[@]}"
done < <(git grep -o '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' ':!kernel/eval/testing_test.go' | sed 's/:func /:/') # left out: a cell of it has one
echo "$found fuzz tests, $time each"
[ "$found" -gt 0 ]
