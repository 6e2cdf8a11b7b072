#!/usr/bin/env bash
# Runs all of "make test" again and again beside processes that compute, and prints what failed how often: scripts/again.sh PYTHON RUNS LOAD.
# Logs of the runs that failed are in out/again. Exit 1 if any has.
set -uo pipefail
cd "$(dirname "$0")/.."
python=$1 runs=$2 load=$3
logs=out/again
rm -rf "$logs"
mkdir -p "$logs"

busy=()
trap 'kill "${busy[@]}" 2> /dev/null' EXIT
trap 'exit 130' INT TERM
for ((i = 0; i < load; i++)); do
  (while :; do :; done) &
  busy+=($!)
done

failed=0
for ((i = 1; i <= runs; i++)); do
  go clean -testcache # or results that are known already would be all that is run
  if scripts/test.sh "$python" > "$logs/$i.log" 2>&1; then
    echo "run $i of $runs: ok, $(grep -o 'together.*' "$logs/$i.log")"
    rm "$logs/$i.log"
    continue
  fi
  failed=$((failed + 1))
  cp -r out/test "$logs/$i"
  # a part whose log names no Go test has failed as a whole
  { grep -rhoE '^--- FAIL: [^ ]+' "$logs/$i" | sed 's/--- FAIL: //' | sort -u; awk '$2 != 0 { print "part " $1 }' "$logs/$i/parts"; } > "$logs/$i.failed"
  echo "run $i of $runs: FAILED: $(xargs < "$logs/$i.failed")"
done

echo "== $failed of $runs runs failed, beside $load busy processes"
cat "$logs"/*.failed 2> /dev/null | sort | uniq -c | sort -rn
[ "$failed" -eq 0 ]
