#!/usr/bin/env bash
# What programs say of the code: gofmt, go vet, staticcheck, and actionlint of the workflows.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

# check NAME COMMAND... is right where the command succeeds and says nothing.
check() {
  local name=$1 said
  shift
  if said=$("$@" 2>&1) && [ -z "$said" ]; then
    echo "ok   $name"
  else
    echo "FAIL $name"
    printf '%s\n' "$said"
    failed=1
  fi
}

mkdir -p out/lint
GOBIN=$PWD/out/lint go install honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOBIN=$PWD/out/lint go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
mapfile -t files < <(git ls-files '*.go')
check gofmt gofmt -l "${files[@]}"
check vet go vet ./...
check staticcheck out/lint/staticcheck ./...
check actionlint out/lint/actionlint
exit $failed
