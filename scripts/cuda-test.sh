#!/usr/bin/env bash
# The GPU's code without a GPU: what has the build tag nvidia is vetted and tested on the emulation of the driver, which g++ builds, and
# kernels.ptx is compared with what NVRTC makes of kernels.cu, and assembled by ptxas for sm_80, sm_86 and sm_90. Prints the registers of
# each func; one that spills is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
settings=$(PYTHON=$python scripts/cuda-env.sh)
eval "$settings"
rooms=(./runtime/gpu/... ./ml/nn ./ml/forest ./ml/lwp)
go vet -tags nvidia "${rooms[@]}" ./cmd/cancha
go vet -C bench -tags nvidia ./gpu
go test -tags nvidia "${rooms[@]}"
go test -race -short -tags nvidia ./runtime/gpu/emulated
"$python" scripts/ptx.py --libraries out/cuda
