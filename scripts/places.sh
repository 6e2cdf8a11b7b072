#!/usr/bin/env bash
# Installs the kernel and runs a notebook in hostile places: the checkout deleted after the install, odd settings of Go, two
# sessions at once on an empty cache, a kernel killed while it builds, a cache that is read-only, full or damaged, no C
# compiler, no toolchain, an older one. Everywhere cells run; where they cannot be compiled, one sentence says what is missing.
# Needs gcc and Go; the places that take a mount of their own need root and are skipped, and counted, without it.
#
# What was said stays in out/places.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/out/places
rm -rf "$out"
mkdir -p "$out"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0
skipped=0

# Go's own caches stay the user's, or each place would compile the standard library; the workspaces' is the place's.
GOCACHE=$(go env GOCACHE)
GOMODCACHE=$(go env GOMODCACHE)
export GOCACHE GOMODCACHE
export HOME=$place/home XDG_CACHE_HOME=$place/cache JUPYTER_DATA_DIR=$place/jupyter
unset GOFLAGS CANCHA_ENGINE
mkdir -p "$HOME"

cat >"$place/notebook.ipynb" <<'END'
{"cells": [
 {"cell_type": "code", "id": "a", "execution_count": null, "metadata": {}, "outputs": [],
  "source": "import (\n\t\"fmt\"\n\t\"path/filepath\"\n\t\"os\"\n)\nfunc double(n int) int { return 2 * n }\nfmt.Println(\"double\", double(21))"},
 {"cell_type": "code", "id": "b", "execution_count": null, "metadata": {}, "outputs": [],
  "source": "fmt.Println(\"engine in\", filepath.Base(filepath.Dir(os.Args[0])))"},
 {"cell_type": "code", "id": "c", "execution_count": null, "metadata": {}, "outputs": [], "source": "%engine"}
], "metadata": {"language_info": {"name": "go"}}, "nbformat": 4, "nbformat_minor": 5}
END

# run NAME: runs the notebook with the installed kernel's program; its output is in $out/NAME.txt.
run() {
  local name=$1
  shift
  "$@" "$JUPYTER_DATA_DIR/kernels/cancha/cancha" run --timeout 10m -o "$place/$name.ipynb" "$place/notebook.ipynb" >"$out/$name.log" 2>&1 || return 1
  python3 - "$place/$name.ipynb" >"$out/$name.txt" <<'END'
import json, sys
for cell in json.load(open(sys.argv[1]))["cells"]:
    for o in cell["outputs"]:
        print("".join(o.get("text", o.get("traceback", ""))), end="")
END
}

# expect NAME WORDS...: the output has each.
expect() {
  local name=$1 word
  shift
  for word in "double 42" "$@"; do
    if ! grep -qF -- "$word" "$out/$name.txt"; then
      echo "FAIL $name: no \"$word\" in:"
      sed 's/^/     /' "$out/$name.txt" "$out/$name.log"
      failed=$((failed + 1))
      return
    fi
  done
  echo "ok   $name ($SECONDS s): $(grep -F 'engine in' "$out/$name.txt" | cut -c 1-60)"
}

compiled=("engine in bin" "cells that declare functions or types are compiled")
interpreted() { expect "$1" "cells are interpreted: $2" "${@:3}"; }

# mounted COMMAND: in a mount namespace of its own, if that can be had.
mounted() { unshare --mount bash -euo pipefail -c "$1"; }
can_mount() { unshare --mount true 2>/dev/null; }
skip() {
  echo "skip $1: it takes root"
  skipped=$((skipped + 1))
}

engines() { find "$XDG_CACHE_HOME/cancha/engines" -name workspace.json | wc -l; }

# 1: a checkout that goes away, installed from under odd settings
mkdir "$place/checkout"
git ls-files -z | xargs -0 cp --parents -t "$place/checkout"
(cd "$place/checkout" && go build -trimpath -buildvcs=false -o bin/cancha ./cmd/cancha)
printf 'GOFLAGS=-mod=vendor\nGOEXPERIMENT=arenas\nCGO_CFLAGS=-O0\n' >"$place/goenv"
SECONDS=0
env GOFLAGS='-mod=vendor -race' GOWORK=/nowhere/go.work GOENV="$place/goenv" GO111MODULE=off CGO_ENABLED=0 CGO_LDFLAGS=-lnowhere GOAMD64=v1 \
  "$place/checkout/bin/cancha" install >"$out/install.log" 2>&1
[ "$(engines)" = 1 ] || { echo "FAIL install: no workspace"; cat "$out/install.log"; exit 1; }
echo "ok   install under odd settings: $(tail -n 1 "$out/install.log")"
if grep -q "$GOCACHE" "$XDG_CACHE_HOME"/cancha/engines/*/importcfg; then
  echo "FAIL install: the workspace points into Go's cache, which \"go clean\" empties"
  failed=$((failed + 1))
fi
rm -rf "$place/checkout"
SECONDS=0
run moved && expect moved "${compiled[@]}"

# 2: odd settings in the session
SECONDS=0
run settings env GOFLAGS='-trimpath -race' GOWORK=/nowhere GOEXPERIMENT=arenas GOTOOLCHAIN=go1.99.0 GOPROXY=off CGO_ENABLED=0 && expect settings "${compiled[@]}"

# 3: an older go command first in PATH
mkdir -p "$place/old"
printf '#!/bin/sh\necho %s\n' "'{\"GOROOT\":\"$place/old\",\"GOVERSION\":\"go1.20.1\",\"GOTOOLDIR\":\"$place/old\",\"CC\":\"gcc\"}'" >"$place/old/go"
chmod +x "$place/old/go"
SECONDS=0
run older env PATH="$place/old:$PATH" && expect older "${compiled[@]}"

# 4: nothing but that one, and nothing at all
if can_mount; then
  hide="for d in /usr/local/go /usr/lib/go /usr/lib/go-* /opt/go; do [ -d \$d ] && mount -t tmpfs none \$d; done; true"
  export -f run
  export out place
  SECONDS=0
  mounted "$hide; PATH=$place/old:/usr/bin:/bin run only-older" && interpreted only-older "go1.20.1 in $place/old is too old"
  SECONDS=0
  mounted "$hide; PATH=/usr/bin:/bin run no-toolchain" && interpreted no-toolchain "no Go toolchain was found"
  SECONDS=0
  if mounted "$hide; PATH=/usr/bin:/bin $JUPYTER_DATA_DIR/kernels/cancha/cancha run --timeout 5m -o $place/tour.ipynb $root/notebooks/01_tour.ipynb" >"$out/tour.log" 2>&1; then
    echo "ok   the tour without a toolchain ($SECONDS s)"
  else
    echo "FAIL the tour without a toolchain"
    sed 's/^/     /' "$out/tour.log"
    failed=$((failed + 1))
  fi
else
  skip only-older
  skip no-toolchain
fi

# 5: no C compiler
mkdir -p "$place/bin"
for program in python3 env sh rm; do ln -s "$(command -v $program)" "$place/bin/"; done
ln -s "$(command -v go)" "$place/bin/go"
SECONDS=0
run no-compiler env PATH="$place/bin" && interpreted no-compiler "no C compiler was found"

# 6: damage
for damage in "truncate -s 100" "rm"; do
  $damage "$(find "$XDG_CACHE_HOME/cancha/engines" -path '*/pkg/0100.a')"
  name=damaged-by-${damage%% *}
  SECONDS=0
  run "$name" && expect "$name" "is ready after" "${compiled[@]}"
done

# 7: two sessions at once, and a kernel killed in the middle, on an empty cache
rm -rf "$XDG_CACHE_HOME"
SECONDS=0
run killed &
killed=$!
until find "$XDG_CACHE_HOME" -name progress 2>/dev/null | grep -q .; do kill -0 $killed; done
pkill -KILL -P "$(pgrep -P $killed -f 'cancha run' | head -n 1)"
wait $killed && { echo "FAIL killed: the run did not notice"; failed=$((failed + 1)); }
run first &
first=$!
run second &
wait $! && wait $first && expect first "${compiled[@]}" && expect second "${compiled[@]}"
grep -q "waiting for another session" "$out/first.txt" "$out/second.txt" || { echo "FAIL two at once: neither waited"; failed=$((failed + 1)); }
[ "$(engines)" = 1 ] || { echo "FAIL two at once: $(engines) workspaces"; failed=$((failed + 1)); }

# 8: a cache that cannot be written, with and without a workspace in it, and one that is full
if can_mount; then
  SECONDS=0
  mounted "mount --bind $XDG_CACHE_HOME $XDG_CACHE_HOME && mount -o remount,bind,ro $XDG_CACHE_HOME; run read-only" && expect read-only "${compiled[@]}"
  mkdir "$place/empty"
  export XDG_CACHE_HOME=$place/empty
  SECONDS=0
  mounted "mount -t tmpfs -o ro none $place/empty; run read-only-empty" && interpreted read-only-empty "the engine that compiles cells is kept in $place/empty/cancha/engines, which cannot be written"
  SECONDS=0
  mounted "mount -t tmpfs -o size=30m none $place/empty; run full" && interpreted full "there is no room left for the engine that compiles cells"
else
  skip read-only
  skip read-only-empty
  skip full
fi

# 9: offline with an empty module cache
export XDG_CACHE_HOME=$place/offline
SECONDS=0
run offline env GOMODCACHE="$place/modules" GOPROXY=http://127.0.0.1:9 GOFLAGS=-modcacherw && interpreted offline "a module that the engine is built from is not in the module cache and could not be fetched (connection refused)"
chmod -R u+w "$place"

# 10: a module added
export XDG_CACHE_HOME=$place/cache
SECONDS=0
if (cd "$root" && CANCHA_PLACES=yes go test -count=1 -v -run TestReal ./kernel/workspace) >"$out/modules.log" 2>&1; then
  echo "ok   modules ($SECONDS s)"
else
  echo "FAIL modules"
  sed 's/^/     /' "$out/modules.log"
  failed=$((failed + 1))
fi

echo "$skipped skipped"
if [ "$failed" -gt 0 ]; then
  echo "FAILED: $failed"
  exit 1
fi
