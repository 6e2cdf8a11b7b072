#!/usr/bin/env bash
# Checks the queries of Nexmark (bench/nexmark) on EVENTS events (2000000): each query gives the same rows, whole numbers and counts exactly, as
# DuckDB gives over the same files, the query by the clock (q12) as many bids; no record is bad, late or left out. Prints both engines' times.
# SOURCES (memory files) are where our queries read the events; with kafka among them they are first written to TOPIC (nexmark-EVENTS) at
# KAFKA_BROKERS=host:port, which must not be there yet.
#
# DISORDER (1) is of how many events each run comes out of order. THREADS (2) and MEMORY (4GB) bound DuckDB. What is made is in OUT (out/nexmark): events, rows, Python environment.
set -euo pipefail
cd "$(dirname "$0")/.."
events=${EVENTS:-2000000} out=${OUT:-out/nexmark}
read -ra sources <<<"${SOURCES:-memory files}"

missing() { echo "nexmark.sh: $*" >&2; exit 3; }

mkdir -p "$out"
if [ ! "$out/python/made" -nt bench/nexmark/requirements.txt ]; then
  "${PYTHON:-python3}" -m venv "$out/python" || missing "no Python with venv: install it, or name one in PYTHON"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check -r bench/nexmark/requirements.txt || missing "pip cannot install DuckDB"
  touch "$out/python/made"
fi
go build -C bench -o "$(realpath "$out")/nexmark" ./nexmark

folders=()
for source in "${sources[@]}"; do
  echo "== our queries, $source"
  folder=$out/rows-$source
  rm -rf "$folder"
  more=()
  [ "$source" != kafka ] || more=(-brokers "${KAFKA_BROKERS:?the source kafka needs host:port}" -topic "${TOPIC:-nexmark-$events}" -fill)
  "$out/nexmark" -events "$events" -disorder "${DISORDER:-1}" -source "$source" -dir "$out/events" -rows "$folder" -report "$folder/ours.json" ${more[@]+"${more[@]}"}
  folders+=("$folder")
done
"$out/nexmark" -events "$events" -disorder "${DISORDER:-1}" -dir "$out/events" -write # unless they are there

echo "== DuckDB"
"$out/python/bin/python" bench/nexmark/check.py --events "$out/events" --threads "${THREADS:-2}" --memory "${MEMORY:-4GB}" "${folders[@]}"
echo "nexmark: all rows agree"
