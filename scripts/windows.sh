#!/usr/bin/env bash
# Checks windows.csv of notebook 03 against an independent computation: 20 matches in random date order go into a topic, the
# notebook reads them, and check_windows.py computes the same from the records of the topic. No row may be late.
#
#   scripts/windows.sh [FLAGS...]                 on "cancha broker -data"
#   scripts/kafka.sh with scripts/windows.sh      on a real Apache Kafka
#
# FLAGS go to the producer, such as -competition 43 -seasons 106. CANCHA_DATA names the matches (simulated ones without),
# MATCHES (20) how many, PYTHON the Python that makes the check's environment, CANCHA another program than bin/cancha. What
# came out stays in out/windows.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/streams.sh

out=$PWD/out/windows
rm -rf "$out"
mkdir -p "$out"
need_check
if [ -n "${CANCHA_KAFKA:-}" ]; then
  brokers=$CANCHA_KAFKA
  echo "== Apache Kafka at $brokers"
else
  start_broker "$out/broker"
fi
echo "== producer"
produce "$out/producer.log" -rate max
echo "== notebook 03"
statistics "$out/notebook"
no_late "$out/notebook"
echo "== check"
check "$out/notebook"
