#!/usr/bin/env bash
# All that a short visit to a machine with a GPU takes, in one folder of at most 60 MiB, for a machine that reaches nothing: programs, tests, notebooks, a
# model, and visit.sh, which does it. Carry the folder there with the checkout, and run:
#
#   scripts/gpu/visit.sh PACK OUT
#
#   scripts/gpu/pack.sh [FOLDER]      out/gpu-pack unless named
#
# WHEELS names a folder of wheels that are to be carried too, such as nvForest's for CUDA 13: they count.
set -euo pipefail
cd "$(dirname "$0")/../.."
pack=${1:-out/gpu-pack}
rm -rf "$pack"
mkdir -p "$pack/bin"
pack=$(cd "$pack" && pwd)
settings=$(scripts/cuda-env.sh headers)
eval "$settings"

for room in runtime/gpu/cuda ml/forest ml/lwp ml/nn; do # each runs on the GPU that CANCHA_LIBCUDA names
  go test -c -trimpath -tags nvidia -ldflags "-s -w" -o "$pack/bin/${room//\//-}.test" "./$room"
done
go build -C bench -trimpath -tags nvidia -ldflags "-s -w" -o "$pack/bin/gpubench" ./gpu
go build -trimpath -tags nvidia -ldflags "-s -w" -o "$pack/bin/cancha-cuda" ./cmd/cancha
(cd "$pack/bin" && tar -cf - cancha-cuda | xz -9 -T0 > ../program.tar.xz && tar -cf - gpubench ./*.test | xz -9 -T0 > ../tests.tar.xz) # apart: a visit may carry one of them
rm -r "$pack/bin"

mkdir -p "$pack/notebooks/models"
cp notebooks/04_*.ipynb notebooks/05_*.ipynb "$pack/notebooks"
if [ -e notebooks/models/lwp_model ]; then
  cp -r notebooks/models/lwp_model "$pack/notebooks/models"
else
  echo "pack.sh: no model: make demo makes one; 04 is left out on the visit" >&2
fi
cp bench/gpu/reference.py "$pack"
[ -z "${WHEELS:-}" ] || cp -r "$WHEELS" "$pack/wheels"
git rev-parse HEAD > "$pack/commit"
size=$(du -sm "$pack" | cut -f1)
echo "$pack: $size MiB"
[ "$size" -le 60 ] || { echo "pack.sh: at most 60 MiB travel" >&2; exit 1; }
