#!/usr/bin/env bash
# Jobs that do nothing, ours beside Celery's on the same RabbitMQ, in turns, and over the embedded broker (bench/jobs/peer). The table goes to OUT/jobs.md
# (out/bench-jobs) and to the terminal.
#
#   scripts/bench-jobs.sh     FLAGS of bench/jobs/peer; PYTHON (python3) makes the environment, once, in OUT/python; eight minutes on 2 cores, which must be quiet
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-out/bench-jobs} requirements=bench/jobs/peer/requirements.txt

missing() { echo "bench-jobs.sh: $*" >&2; exit 3; }

command -v "${PYTHON:-python3}" >/dev/null || missing "no ${PYTHON:-python3}: install Python 3"
if [ ! "$out/python/made" -nt $requirements ]; then
  "${PYTHON:-python3}" -m venv "$out/python" || missing "no environment for Python: install python3-venv"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check -r $requirements || missing "Celery cannot be had from PyPI"
  touch "$out/python/made"
fi
go build -C bench -o "$(realpath "$out")/bench" ./jobs/peer
scripts/rabbitmq.sh with "$out/bench" -python "$out/python/bin/python" "$@" >"$out/jobs.md"
cat "$out/jobs.md"
