#!/usr/bin/env bash
# A visit of at most eight minutes to a machine with an NVIDIA GPU, with what pack.sh has packed: most important first, each step with a limit of its own, and
# none stops the next. OUT has visit.json, visit.log and the notebooks afterwards; "scripts/gpu/fill.py OUT/visit.json" puts the figures where they are shown.
#
#   scripts/gpu/visit.sh PACK OUT
#
# REHEARSE=yes, on a machine without a GPU: tests run on the emulation (g++), and what is measured is small.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
pack=$(cd "${1:?the pack}" && pwd)
mkdir -p "${2:?a folder for what comes back}"
out=$(cd "$2" && pwd)
log=$out/visit.log
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
bin=$place/bin
mkdir "$bin"
for archive in "$pack"/*.tar.xz; do # one of both may have been left at home; Python unpacks where there is no xz
  tar -xJf "$archive" -C "$bin" 2> /dev/null || python3 -m tarfile -e "$archive" "$bin"
done
small= numbers=()
if [ -n "${REHEARSE:-}" ]; then
  small=-small numbers=(-p elements=100000 -p matrix=100 -p images=1 -p rows=200 -p matches=20)
else
  export CANCHA_LIBCUDA=libcuda.so.1 # tests run on the GPU, not on the emulation
fi
export CANCHA_ENGINE=interp CANCHA_LOCKS=$place XDG_CACHE_HOME=$place/cache # the machine need not have Go, and keeps nothing
steps=() begun=$SECONDS needs=
: > "$log"

# step NAME SECONDS COMMAND... runs a command and notes how it ended; rc 124: its time was over.
step() {
  local name=$1 limit=$2 began=$SECONDS code=0
  shift 2
  [ -n "$needs" ] && [ ! -e "$bin/$needs" ] && return
  printf '\n== %s: %s\n' "$name" "$*" >> "$log"
  timeout -k 5 "$limit" "$@" >> "$log" 2>&1 || code=$?
  steps+=("$(printf '{"step": "%s", "rc": %d, "seconds": %d, "limit": %d}' "$name" "$code" $((SECONDS - began)) "$limit")")
  printf '%-22s rc %3d  %4d s\n' "$name" "$code" $((SECONDS - began))
}

tests() { # tests ROOM PATTERN: in the room's folder, where its test data is
  cd "$root/$1" && "$bin/${1//\//-}.test" -test.run "$2" -test.v
}

notebook() { # notebook NUMBER PARAMETERS...
  local number=$1
  shift
  (cd "$pack/notebooks" && "$bin/cancha-cuda" run --timeout 100s -p "out=$out/$number" "$@" -o "$out/$number.ipynb" "$number"_*.ipynb)
}

copies() { "$bin/gpubench" -copies $small > "$out/copies.json"; }
sanitized() {
  command -v compute-sanitizer > /dev/null || { echo "no compute-sanitizer here"; return 3; }
  cd "$root/ml/forest" && compute-sanitizer --error-exitcode 9 "$bin/ml-forest.test" -test.run 'TestLibraryOnGPU' -test.v
}
reference() {
  python3 -c 'import torch' || { echo "no PyTorch here"; return 3; }
  python3 "$pack/reference.py" --out "$out"
}
export -f tests notebook copies sanitized reference
export root pack out bin small
within() { step "$1" "$2" bash -c "$3"; }

needs=cancha-cuda
within discover 20 '"$bin/cancha-cuda" doctor'
needs=gpubench
within gputest 90 'tests runtime/gpu/cuda .'
within forest 60 'tests ml/forest GPU'
within lwp 60 'tests ml/lwp GPU'
within copies 20 copies
within bench 120 '"$bin/gpubench" $small -out "$out"'
needs=cancha-cuda
step 05 110 bash -c 'notebook 05 "$@"' 05 "${numbers[@]}"
[ ! -e "$pack/notebooks/models/lwp_model" ] || within 04 50 'notebook 04 -p events=20000 -p rate=0.0'
needs=gpubench
within sanitizer 40 sanitized
within nn 40 'tests ml/nn GPU'
within reference 60 reference

shown() { [ -s "$1" ] && cat "$1" || echo null; } # shown FILE: what JSON it has
bench=$(ls -t "$out"/gpu-*.json "$out"/small-*.json 2> /dev/null | head -1)
{
  printf '{"commit": "%s", "date": "%s", "rehearsal": %s, "seconds": %d,\n"machine": "%s",\n"steps": [\n' \
    "$(cat "$pack/commit")" "$(date -u +%F)" "$([ -n "${REHEARSE:-}" ] && echo true || echo false)" $((SECONDS - begun)) "$(nvidia-smi -L 2> /dev/null | head -1 | tr -d '"')"
  (IFS=$'\n'; printf '%s\n' "${steps[*]}" | sed '$!s/$/,/')
  printf '],\n"copies": %s,\n"bench": %s,\n"reference": %s,\n"05": %s,\n"04": %s}\n' "$(shown "$out/copies.json")" "$(shown "$bench")" \
    "$(shown "$(ls -t "$out"/reference-*.json 2> /dev/null | head -1)")" "$(shown "$out/05/05_metrics.json")" "$(shown "$out/04/04_metrics.json")"
} > "$out/visit.json"
echo "$out/visit.json: $((SECONDS - begun)) s"
