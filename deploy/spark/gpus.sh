#!/bin/sh
# The GPUs that a worker of Spark finds, in the form that spark.worker.resource.gpu.discoveryScript wants: {"name":"gpu","addresses":["0","1"]}.
# nvidia-smi comes into the container with NVIDIA's container toolkit (capability utility).
set -eu
indices=$(nvidia-smi --query-gpu=index --format=csv,noheader)
addresses=$(echo "$indices" | sed 's/.*/"&"/' | paste -sd, -)
echo "{\"name\":\"gpu\",\"addresses\":[$addresses]}"
