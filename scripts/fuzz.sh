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
while IFS=: read -r file name; do
  folder=$(dirname "$file")
  [[ "$folder $name" =~ ${FUZZ:-.} ]] || continue
  found=$((found + 1))
  echo "== $folder $name"
  tags=()
  [[ $folder == kernel/eval* ]] && tags=("${compiled[@]}")
  go test "${tags[@]}" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1s "./$folder"
done < <(git grep -o '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' ':!kernel/eval/testing_test.go' | sed 's/:func /:/') # left out: a cell of it has one
echo "$found fuzz tests, $time each"
[ "$found" -gt 0 ]
