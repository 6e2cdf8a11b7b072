#!/usr/bin/env bash
# Has pyarrow and DuckDB, from PyPI, read what stream/parquet writes, and compares each value and type: a column of each kind with and without
# values, times of both units, several groups of rows with their statistics, a file without rows, a folder whose last file is not whole yet.
#
#   scripts/parquet.sh     PYTHON (python3) makes the environment, once, in out/parquet
set -euo pipefail
cd "$(dirname "$0")/.."
env=out/parquet

missing() { echo "parquet.sh: $*" >&2; exit 3; }

command -v "${PYTHON:-python3}" >/dev/null || missing "no ${PYTHON:-python3}: install Python 3"
if [ ! "$env/made" -nt scripts/parquet-requirements.txt ]; then
  "${PYTHON:-python3}" -m venv "$env" || missing "no environment for Python: install python3-venv"
  "$env/bin/pip" install --quiet --disable-pip-version-check -r scripts/parquet-requirements.txt || missing "pyarrow and duckdb cannot be had from PyPI"
  touch "$env/made"
fi
CANCHA_PARQUET_PYTHON=$PWD/$env/bin/python go test -count=1 -v -run TestReaders ./stream/parquet
