#!/usr/bin/env bash
# The protocol suite, case by case, over libzmq's sockets, and the table of its results in out/conformance: on bin/cancha, or on
# another kernel.
#
#   conformance.sh PYTHON                      # a Python that has pyzmq; with RACE=1 on a kernel process built with -race
#   conformance.sh PYTHON KERNEL [SAMPLES]     # the name of a kernelspec, or the path of a kernel.json or its folder; samples
#                                              # for its language, if not those in kernel/kerneltest/testdata
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "${1:?which Python}")
kernel=${2:-}
samples=${3:-}
mkdir -p out/conformance
export CANCHA_PYTHON=$python

program=$PWD/bin/cancha
if [ -n "${RACE:-}" ]; then
  program=$PWD/out/conformance/cancha-race
  go build -race -trimpath -o "$program" ./cmd/cancha
  export GORACE=halt_on_error=1 # a race ends the kernel, and so the case
fi
if [ -z "$kernel" ]; then
  CANCHA_PROGRAM=$program KERNELTEST_TABLE=$PWD/out/conformance/cancha.txt \
    go test -count=1 -v -timeout 20m -run 'TestCancha$|TestCanchaEncrypted$' ./kernel/kerneltest
  exit
fi
name=${kernel%/kernel.json}
name=${name%/}
[[ $kernel != */* ]] || kernel=$(realpath -s "$kernel")
folder=$(dirname "$(dirname "$python")")
export PATH=$(dirname "$python"):$PATH JUPYTER_PATH=${JUPYTER_PATH:+$JUPYTER_PATH:}$folder/share/jupyter
[ -z "$samples" ] || export KERNELTEST_SAMPLES=$(realpath "$samples")
KERNELTEST_KERNEL=$kernel KERNELTEST_TABLE=$PWD/out/conformance/${name##*/}.txt \
  go test -count=1 -v -timeout 30m -run 'TestInstalled$' ./kernel/kerneltest
