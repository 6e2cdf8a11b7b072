#!/usr/bin/env bash
# An Apache Kafka of one node (KRaft, loopback only) for tests: Java 17 and Maven, no Docker.
#
#   scripts/kafka.sh with COMMAND...   start one with fresh data, run COMMAND with CANCHA_KAFKA=host:port, stop it; where
#                                      openssl is, also with CANCHA_KAFKA_SASL, _TLS, _SASL_TLS and _MUTUAL_TLS, its other
#                                      ports, and CANCHA_KAFKA_CERTIFICATES, a folder (user reader, password s3cret-word)
#   scripts/kafka.sh start             start one that stays; prints CANCHA_KAFKA=host:port
#   scripts/kafka.sh stop              stop it
#   scripts/kafka.sh kill              kill it with -9 (start again serves the same data)
#   scripts/kafka.sh fresh             stop it, forget its data, and start it
#   scripts/kafka.sh fetch             only fetch it; prints the folder of its jars
#
# KAFKA_VERSION (4.3.0), KAFKA_PORT (19292), KAFKA_HEAP (512m), KAFKA_DIR (data and log; below TMPDIR),
# KAFKA_RETENTION (bytes of each partition, checked every second; default: none)
set -euo pipefail

version=${KAFKA_VERSION:-4.3.0}
port=${KAFKA_PORT:-19292}
heap=${KAFKA_HEAP:-512m}
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
dir=${KAFKA_DIR:-${TMPDIR:-/tmp}/cancha-kafka-$port}
jars=${XDG_CACHE_HOME:-$HOME/.cache}/cancha/kafka-$version

# shellcheck source=scripts/daemon.sh
. "$(dirname "$self")/daemon.sh"

die() { echo "kafka.sh: $*" >&2; exit 1; }
missing() { echo "kafka.sh: $*" >&2; exit 3; }

# fetch resolves Kafka's jars from Maven Central, once. The artefact names no logger: slf4j-simple is enough.
fetch() {
  [ -e "$jars/complete" ] && return
  command -v mvn >/dev/null || missing "no mvn: install Maven"
  command -v java >/dev/null || missing "no java: install Java 17 or newer"
  mkdir -p "$jars"
  cat >"$jars/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>cancha</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
  echo "kafka.sh: fetching Apache Kafka $version from Maven Central" >&2
  (cd "$jars" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib)
  touch "$jars/complete"
}

kafka_java() { java -XX:TieredStopAtLevel=1 -cp "$jars/lib/*" "$@"; }

# certificates makes an authority, what it signs for the broker and for a client, and an authority that signs nothing.
certificates() {
  local c=$dir/certificates
  [ -e "$c/complete" ] && return
  mkdir -p "$c"
  for name in ca other; do
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=cancha test $name" -keyout "$c/$name.key" -out "$c/$name.pem"
  done
  printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$c/names"
  for name in broker client; do
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout "$c/$name.key" -out "$c/$name.csr"
    openssl x509 -req -days 30 -in "$c/$name.csr" -CA "$c/ca.pem" -CAkey "$c/ca.key" -CAcreateserial -extfile "$c/names" -out "$c/$name.pem"
  done
  cat "$c/broker.key" "$c/broker.pem" >"$c/broker.both"
  touch "$c/complete"
}

# secured adds a port for each kind of security.
secured() {
  certificates >"$dir/certificates.log" 2>&1 || die "no certificates: $(tail -5 "$dir/certificates.log")"
  sed -i.plain -e "/^listeners=/s/\$/,SASL:\/\/127.0.0.1:$((port + 2)),TLS:\/\/127.0.0.1:$((port + 3)),SASLTLS:\/\/127.0.0.1:$((port + 4)),MUTUAL:\/\/127.0.0.1:$((port + 5))/" \
    -e "/^advertised.listeners=/s/\$/,SASL:\/\/127.0.0.1:$((port + 2)),TLS:\/\/127.0.0.1:$((port + 3)),SASLTLS:\/\/127.0.0.1:$((port + 4)),MUTUAL:\/\/127.0.0.1:$((port + 5))/" \
    -e "/^listener.security.protocol.map=/s/\$/,SASL:SASL_PLAINTEXT,TLS:SSL,SASLTLS:SASL_SSL,MUTUAL:SSL/" "$dir/server.properties"
  local login=org.apache.kafka.common.security
  cat >>"$dir/server.properties" <<PROPERTIES
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
ssl.keystore.type=PEM
ssl.keystore.location=$dir/certificates/broker.both
ssl.truststore.type=PEM
ssl.truststore.location=$dir/certificates/ca.pem
listener.name.mutual.ssl.client.auth=required
PROPERTIES
  for listener in sasl sasltls; do
    cat >>"$dir/server.properties" <<PROPERTIES
listener.name.$listener.plain.sasl.jaas.config=$login.plain.PlainLoginModule required user_reader="s3cret-word";
listener.name.$listener.scram-sha-256.sasl.jaas.config=$login.scram.ScramLoginModule required;
listener.name.$listener.scram-sha-512.sasl.jaas.config=$login.scram.ScramLoginModule required;
PROPERTIES
  done
  users=(--add-scram 'SCRAM-SHA-256=[name=reader,password=s3cret-word]' --add-scram 'SCRAM-SHA-512=[name=reader,password=s3cret-word]')
}

configure() {
  mkdir -p "$dir"
  cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$dir/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
PROPERTIES
  if [ -n "${KAFKA_RETENTION:-}" ]; then
    printf 'log.retention.bytes=%s\nlog.segment.bytes=1048576\nlog.segment.delete.delay.ms=100\n' "$KAFKA_RETENTION" >>"$dir/server.properties"
  fi
  local users=()
  if command -v openssl >/dev/null; then secured; fi
  [ -e "$dir/data/meta.properties" ] && return
  local id
  id=$(kafka_java kafka.tools.StorageTool random-uuid 2>/dev/null)
  kafka_java kafka.tools.StorageTool format -t "$id" -c "$dir/server.properties" ${users[@]+"${users[@]}"} >"$dir/format.log" 2>&1 || die "format failed: $(tail -5 "$dir/format.log")"
}

start() {
  alive kafka && die "already running in $dir"
  fetch
  configure
  launch kafka java -Dorg.slf4j.simpleLogger.defaultLogLevel=info -Xms"$heap" -Xmx"$heap" -cp "$jars/lib/*" kafka.Kafka "$dir/server.properties"
  await kafka 'Kafka Server started' 60
}

stop() { end kafka; }

case "${1:-}" in
fetch)
  fetch
  echo "$jars/lib"
  ;;
with)
  shift
  [ $# -gt 0 ] || die "with: which command?"
  alive kafka && die "already running in $dir: stop it first"
  rm -rf "$dir"
  trap stop EXIT
  start
  if [ -e "$dir/certificates/complete" ]; then
    export CANCHA_KAFKA_SASL=127.0.0.1:$((port + 2)) CANCHA_KAFKA_TLS=127.0.0.1:$((port + 3)) CANCHA_KAFKA_SASL_TLS=127.0.0.1:$((port + 4))
    export CANCHA_KAFKA_MUTUAL_TLS=127.0.0.1:$((port + 5)) CANCHA_KAFKA_CERTIFICATES=$dir/certificates
  fi
  CANCHA_KAFKA=127.0.0.1:$port CANCHA_KAFKA_SH=$self "$@"
  ;;
start) start; echo "CANCHA_KAFKA=127.0.0.1:$port" ;;
stop) stop ;;
fresh) stop; rm -rf "$dir/data"; start ;;
kill) crash kafka ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,13p >&2; exit 2 ;;
esac
