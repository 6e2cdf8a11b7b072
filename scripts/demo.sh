#!/usr/bin/env bash
# The main job, as "make demo" runs it: trains on simulated matches, keeps statistics of a live stream, and scores it, each
# in its notebook, without a browser, on the broker that the engine brings along. EVENTS=n ends the streams after n records.
# What the notebooks write, and the notebooks with their outputs, are in out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/out/demo
unset KAFKA_BROKERS # the demonstration needs no cluster, and must not write into one
rm -rf "$out"
mkdir -p "$out"

for name in 02_train_lwp 03_streaming_statistics 04_streaming_inference; do
  parameters=(-p "out=$out/$name")
  if [ -n "${EVENTS:-}" ] && [ "$name" != 02_train_lwp ]; then
    parameters+=(-p "events=$EVENTS")
  fi
  mkdir -p "$out/$name"
  bin/cancha run --timeout 5m "${parameters[@]}" -o "$out/$name.ipynb" "notebooks/$name.ipynb"
done

"${PYTHON:-python3}" scripts/results.py "$out"
cat <<END

The executed notebooks are in $out. To open them, or the ones in notebooks/, in JupyterLab:

    make lab
END
