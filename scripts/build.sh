#!/usr/bin/env bash
# Builds bin/cancha. Where a C compiler is, it is the engine that compiles cells (cmd/bootstrap), so that each package is compiled
# once for both; elsewhere "go build" makes a program that interprets them, and says why.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT # or an interrupt of the first way would begin the second

# shared are the flags of loadable and mendRuntime in kernel/workspace: what is compiled with others is compiled twice.
shared=(-trimpath -buildvcs=false -buildmode=pie -gcflags=all=-dynlink -asmflags=all=-dynlink)
source=$(go env GOROOT)/src
replace=()
mkdir -p out/bootstrap
put() { cat > "$1.$$" && mv "$1.$$" "$1"; } # whole or not at all: two builds may run at once
if grep -q '^func efaceOf(' "$source/runtime/runtime2.go"; then
  sed 's|^func efaceOf(|//go:noinline\
&|' "$source/runtime/runtime2.go" | put out/bootstrap/runtime2.go.txt
  replace+=("\"$source/runtime/runtime2.go\": \"$PWD/out/bootstrap/runtime2.go.txt\"")
else
  shared+=('-gcflags=runtime=-dynlink -l')
fi
if grep -q '^func Exit(code int) {$' "$source/os/proc.go"; then
  sed 's|^func Exit(code int) {$|&\
	beforeExit(code)|' "$source/os/proc.go" | put out/bootstrap/proc.go.txt
  sed -n '/^const hookText = `/,/^`$/p' kernel/workspace/runtime.go | sed '1s/.*`//; $d' | put out/bootstrap/exit_hook.go.txt
  replace+=("\"$source/os/proc.go\": \"$PWD/out/bootstrap/proc.go.txt\"" "\"$source/os/exit_hook.go\": \"$PWD/out/bootstrap/exit_hook.go.txt\"")
fi
if grep -q '^	*hash = fnv1(hash, byte(ft.Hash>>24), ' "$source/reflect/type.go"; then
  sed 's/^\(	*\)hash = fnv1(hash, byte(\(t\.t\|ft\)\.Hash>>24), .*)$/\1hash = fnv1(hash, []byte(stringFor((*abi.Type)(unsafe.Pointer(\&\2.Size_))))...)/' \
    "$source/reflect/type.go" | put out/bootstrap/type.go.txt
  replace+=("\"$source/reflect/type.go\": \"$PWD/out/bootstrap/type.go.txt\"")
fi
if [ ${#replace[@]} -gt 0 ]; then
  (IFS=,; printf '{"Replace": {%s}}\n' "${replace[*]}") | put out/bootstrap/overlay.json
  shared+=(-overlay="$PWD/out/bootstrap/overlay.json")
fi

if ! command -v "${CC:-gcc}" clang cc > /dev/null; then
  echo "no C compiler (gcc or clang) is here: bin/cancha will interpret cells"
elif CGO_ENABLED=1 GOFLAGS='' GOGC=400 go run "${shared[@]}" ./cmd/bootstrap bin/cancha; then
  exit
else
  echo "bin/cancha will interpret cells, because the engine that compiles them could not be built"
fi
go build -trimpath -o bin/cancha ./cmd/cancha
