#!/usr/bin/env bash
# Builds bin/cancha. Where a C compiler is, it is the engine that compiles cells (cmd/bootstrap), so that each package is compiled
# once for both; elsewhere "go build" makes a program that interprets them, and says why.
set -euo pipefail
cd "$(dirname "$0")/.."
shared=(-trimpath -buildvcs=false -buildmode=pie -gcflags=all=-dynlink -asmflags=all=-dynlink) # as loadable in kernel/workspace/build.go
if command -v "${CC:-gcc}" clang cc > /dev/null && CGO_ENABLED=1 GOFLAGS='' go run "${shared[@]}" ./cmd/bootstrap bin/cancha; then
  exit
fi
echo "bin/cancha will interpret cells"
go build -trimpath -o bin/cancha ./cmd/cancha
