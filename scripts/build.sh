#!/usr/bin/env bash
# Builds bin/cancha. Where a C compiler is, it is the engine that compiles cells (cmd/bootstrap), so that each package is compiled
# once for both; elsewhere "go build" makes a program that interprets them, and says why.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT # or an interrupt of the first way would begin the second

# shared are the flags of loadable and mendRuntime in kernel/workspace: what is compiled with others is compiled twice.
shared=(-trimpath -buildvcs=false -buildmode=pie -gcflags=all=-dynlink -asmflags=all=-dynlink)
original=$(go env GOROOT)/src/runtime/runtime2.go
if grep -q '^func efaceOf(' "$original"; then
  mkdir -p out/bootstrap
  put() { cat > "$1.$$" && mv "$1.$$" "$1"; } # whole or not at all: two builds may run at once
  sed 's|^func efaceOf(|//go:noinline\
&|' "$original" | put out/bootstrap/runtime2.go.txt
  printf '{"Replace": {"%s": "%s"}}\n' "$original" "$PWD/out/bootstrap/runtime2.go.txt" | put out/bootstrap/overlay.json
  shared+=(-overlay="$PWD/out/bootstrap/overlay.json")
else
  shared+=('-gcflags=runtime=-dynlink -l')
fi

if ! command -v "${CC:-gcc}" clang cc > /dev/null; then
  echo "no C compiler (gcc or clang) is here: bin/cancha will interpret cells"
elif CGO_ENABLED=1 GOFLAGS='' GOGC=400 go run "${shared[@]}" ./cmd/bootstrap bin/cancha; then
  exit
else
  echo "bin/cancha will interpret cells, because the engine that compiles them could not be built"
fi
go build -trimpath -o bin/cancha ./cmd/cancha
