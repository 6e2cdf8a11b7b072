#!/usr/bin/env bash
# Runs every fuzz test of the module for the given time, one after the other: the go command takes one at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long, such as 30s}
found=0
while IFS=: read -r file name; do
  found=$((found + 1))
  echo "== $(dirname "$file") $name"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$(dirname "$file")"
done < <(git grep -o 'func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func /:/')
echo "$found fuzz tests, $time each"
[ "$found" -gt 0 ]
