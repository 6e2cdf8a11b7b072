#!/usr/bin/env bash
# Has scikit-learn's forests, which skl2onnx writes, answer in package onnx as they do in onnxruntime, and our forests in onnxruntime as they do
# here: 40 to 100 trees of full depth, thresholds among the numbers of the rows.
#
#   scripts/onnx.sh     PYTHON (python3) makes the environment, once, in out/onnx
set -euo pipefail
cd "$(dirname "$0")/.."
env=out/onnx requirements=ml/onnx/testdata/requirements.txt

missing() { echo "onnx.sh: $*" >&2; exit 3; }

command -v "${PYTHON:-python3}" >/dev/null || missing "no ${PYTHON:-python3}: install Python 3"
if [ ! "$env/made" -nt $requirements ]; then
  "${PYTHON:-python3}" -m venv "$env" || missing "no environment for Python: install python3-venv"
  "$env/bin/pip" install --quiet --disable-pip-version-check -r $requirements || missing "onnxruntime and skl2onnx cannot be had from PyPI"
  touch "$env/made"
fi
CANCHA_ONNX_PYTHON=$PWD/$env/bin/python go test -count=1 -v -run TestRuntime ./ml/onnx
