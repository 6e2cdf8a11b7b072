#!/usr/bin/env bash
# A foreign producer, consumer and worker: Python's pika, on a real RabbitMQ, which it starts.
#
#   scripts/pika.sh     PYTHON (python3) makes the environment, once, in out/pika; RABBITMQ_TEST_PORT as in scripts/rabbitmq.sh
set -euo pipefail
cd "$(dirname "$0")/.."
env=out/pika requirements=jobs/jobstest/foreign/testdata/requirements.txt

missing() { echo "pika.sh: $*" >&2; exit 3; }

command -v "${PYTHON:-python3}" >/dev/null || missing "no ${PYTHON:-python3}: install Python 3"
if [ ! "$env/made" -nt $requirements ]; then
  "${PYTHON:-python3}" -m venv "$env" || missing "no environment for Python: install python3-venv"
  "$env/bin/pip" install --quiet --disable-pip-version-check -r $requirements || missing "pika cannot be had from PyPI"
  touch "$env/made"
fi
CANCHA_PIKA=$PWD/$env/bin/python exec scripts/rabbitmq.sh with go test -count=1 -v "$@" ./jobs/jobstest/foreign
