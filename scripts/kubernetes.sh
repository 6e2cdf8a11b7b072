#!/usr/bin/env bash
# Has Kustomize make each overlay below deploy/kubernetes, decodes it strictly by the types of Kubernetes and of the Prometheus Operator, and by KEDA's definition,
# and compares what belongs together; then kube-score looks at it. Nothing needs a cluster. The first run compiles these types, which takes minutes.
#
#   scripts/kubernetes.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/out/kubernetes
score=$tools/kube-score-1.20.0
keda=github.com/kedacore/keda/v2@v2.21.0

missing() { echo "kubernetes.sh: $*" >&2; exit 3; }

(cd deploy/kubernetes && go mod download) || missing "Kubernetes' types cannot be had from Go's module proxy"
module=$(cd "${TMPDIR:-/tmp}" && GO111MODULE=on go mod download -json "$keda" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p') # 3 MB; nothing of it is compiled
[ -n "$module" ] || missing "KEDA's module cannot be had from Go's module proxy"
(cd deploy/kubernetes && go vet . && KEDA_MODULE=$module go test -count=1 .)
if [ ! -x "$score" ]; then
  (cd "${TMPDIR:-/tmp}" && GOBIN=$tools go install github.com/zegl/kube-score/cmd/kube-score@v1.20.0) || missing "kube-score cannot be had from Go's module proxy"
  mv "$tools/kube-score" "$score"
fi
(cd deploy/kubernetes && KUBE_SCORE=$score go test -count=1 -v -run TestScore .)
