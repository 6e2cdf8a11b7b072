#!/usr/bin/env bash
# Has forests that Spark ML trains and saves answer in package mllib as they do in Spark, and our forests in Spark as they do here: 20 trees of depth
# 8 over numbers and categories, with weights, in several files and codecs, 20,000 rows, numbers at thresholds.
#
#   scripts/mllib.sh     PYTHON (python3) makes the environment, once, in out/mllib; it takes Java 17. CANCHA_PYSPARK=4.2.1 takes another version
set -euo pipefail
cd "$(dirname "$0")/.."
version=${CANCHA_PYSPARK:-4.0.0}
env=out/mllib/$version requirements=spark/mllib/testdata/requirements.txt

missing() { echo "mllib.sh: $*" >&2; exit 3; }

command -v java >/dev/null || missing "no java: install Java 17"
command -v "${PYTHON:-python3}" >/dev/null || missing "no ${PYTHON:-python3}: install Python 3"
if [ ! "$env/made" -nt $requirements ]; then
  "${PYTHON:-python3}" -m venv "$env" || missing "no environment for Python: install python3-venv"
  sed "s/^pyspark==.*/pyspark==$version/" $requirements > "$env/requirements.txt"
  "$env/bin/pip" install --quiet --disable-pip-version-check -r "$env/requirements.txt" || missing "PySpark $version cannot be had from PyPI"
  touch "$env/made"
fi
CANCHA_SPARK_PYTHON=$PWD/$env/bin/python go test -count=1 -v -run TestSpark ./spark/mllib
