#!/usr/bin/env bash
# Runs tests of the cell engine with cells compiled: scripts/compiled.sh COMMAND [FLAG…], the command being go test or one that takes its
# flags. Built as the engine is, which else could not load them; it needs bin/cancha.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(bin/cancha doctor -workspace)
mended=-overlay=$folder/overlay.json # package runtime as the workspace has it (kernel/workspace/runtime.go)
[ -e "$folder/overlay.json" ] || mended=-gcflags=runtime=-l
CANCHA_WORKSPACE=$folder CGO_ENABLED=1 GOFLAGS='' exec "$@" -trimpath -buildvcs=false "$mended" -tags workspace ./kernel/eval
