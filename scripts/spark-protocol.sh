#!/usr/bin/env bash
# The Go code of spark/internal/protocol, made of connect.proto.
#
#   scripts/spark-protocol.sh          write connect.pb.go anew
#   scripts/spark-protocol.sh check    fail if that would change it, or if connect.proto differs from Spark's own definitions, which the server's
#                                      jar holds (scripts/spark.sh fetch gets it): every number and every type
#
# protoc is that of grpcio-tools (PyPI), in the user's cache; protoc-gen-go that of the module in go.mod. PYTHON (python3), SPARK_VERSION (4.0.0)
set -euo pipefail
cd "$(dirname "$0")/.."

tools=1.85.1
venv=${XDG_CACHE_HOME:-$HOME/.cache}/cancha/protoc-$tools
source=spark/internal/protocol/connect.proto
made=${source%.proto}.pb.go

if [ ! -e "$venv/complete" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "grpcio-tools==$tools"
  touch "$venv/complete"
fi
protoc() { "$venv/bin/python" -m grpc_tools.protoc "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work go install google.golang.org/protobuf/cmd/protoc-gen-go

# generate writes the code below a folder. The comment of the file is no comment of the package.
generate() { protoc --plugin=protoc-gen-go="$work/protoc-gen-go" -I . --go_out="$1" --go_opt=paths=source_relative "$source"; }

case "${1:-write}" in
write) generate . ;;
check)
  mkdir "$work/go" "$work/spark"
  generate "$work/go"
  diff -u "$made" "$work/go/$made" || { echo "spark-protocol.sh: $made is not what $source gives: run scripts/spark-protocol.sh" >&2; exit 1; }
  scripts/spark.sh fetch
  jars=${XDG_CACHE_HOME:-$HOME/.cache}/cancha/spark-${SPARK_VERSION:-4.0.0}/lib/pyspark/jars
  "$venv/bin/python" scripts/spark_protocol.py definitions "$work/spark" "$jars"/spark-connect*.jar
  protoc -I . --descriptor_set_out="$work/ours" "$source"
  (cd "$work/spark" && protoc -I . --include_imports --descriptor_set_out="$work/theirs" spark/connect/base.proto)
  "$venv/bin/python" scripts/spark_protocol.py compare "$work/ours" "$work/theirs"
  ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,8p >&2; exit 2 ;;
esac
