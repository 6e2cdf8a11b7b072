#!/usr/bin/env bash
# A RabbitMQ of one node for tests, on loopback: Debian's rabbitmq-server, not the system's service; it runs as the user rabbitmq where this is root.
#
#   scripts/rabbitmq.sh with COMMAND...   start one with fresh data, run COMMAND with CANCHA_RABBITMQ=amqp://…, CANCHA_RABBITMQ_API=http://… (the
#                                         management API, which makes vhosts) and CANCHA_RABBITMQ_SH (this script), stop it
#   scripts/rabbitmq.sh start             start one that stays; prints CANCHA_RABBITMQ=amqp://…
#   scripts/rabbitmq.sh stop              stop it
#   scripts/rabbitmq.sh kill              kill it with -9 (start again serves the same data)
#   scripts/rabbitmq.sh fresh             stop it, forget its data, and start it
#   scripts/rabbitmq.sh ctl ARGUMENT...   rabbitmqctl on it
#   scripts/rabbitmq.sh install           as root: get Debian's package where there is none, and leave its service alone
#
# RABBITMQ_TEST_PORT (25680, and the four ports after it, of which the last is for TLS), RABBITMQ_TEST_DIR (data and log; below TMPDIR),
# RABBITMQ_TEST_CONF (lines for its rabbitmq.conf, such as "consumer_timeout = 1000")
set -euo pipefail

port=${RABBITMQ_TEST_PORT:-25680}
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
dir=${RABBITMQ_TEST_DIR:-${TMPDIR:-/tmp}/cancha-rabbitmq-$port}
bin=${RABBITMQ_BIN:-/usr/lib/rabbitmq/bin}

# shellcheck source=scripts/daemon.sh
. "$(dirname "$self")/daemon.sh"

die() { echo "rabbitmq.sh: $*" >&2; exit 1; }
missing() { echo "rabbitmq.sh: $*" >&2; exit 3; }

as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups)

# The node's own port for its tools, and its own epmd, so that a RabbitMQ of the system is not in its way.
settings=(HOME="$dir" RABBITMQ_NODENAME=cancha@localhost RABBITMQ_NODE_PORT="$port" RABBITMQ_NODE_IP_ADDRESS=127.0.0.1
  RABBITMQ_DIST_PORT=$((port + 2)) ERL_EPMD_PORT=$((port + 3)) ERL_EPMD_ADDRESS=127.0.0.1
  RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir/log" RABBITMQ_CONFIG_FILE="$dir/rabbitmq" RABBITMQ_ADVANCED_CONFIG_FILE="$dir/none"
  RABBITMQ_ENABLED_PLUGINS_FILE="$dir/plugins" RABBITMQ_PID_FILE="$dir/node.pid" RABBITMQ_CONF_ENV_FILE="$dir/none"
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}")

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start() {
  alive rabbitmq && die "already running in $dir"
  [ -x "$bin/rabbitmq-server" ] || missing "no $bin/rabbitmq-server: scripts/rabbitmq.sh install, as root, gets Debian's package"
  mkdir -p "$dir/data" "$dir/log"
  echo '[rabbitmq_management].' >"$dir/plugins"
  printf 'management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %s\nlog.file.level = warning\n%s\n' $((port + 1)) "${RABBITMQ_TEST_CONF:-}" >"$dir/rabbitmq.conf"
  [ ${#as[@]} -eq 0 ] || chown -R rabbitmq:rabbitmq "$dir"
  launch rabbitmq ${as[@]+"${as[@]}"} env "${settings[@]}" "$bin/rabbitmq-server"
  for _ in $(seq 600); do
    answers "$port" && answers $((port + 1)) && return
    alive rabbitmq || die "it has ended: $(tail -20 "$dir/rabbitmq.log")"
    sleep 0.1
  done
  die "it does not answer after 60 s: $(tail -20 "$dir/rabbitmq.log")"
}

# install must not start the service of the system, which would be a RabbitMQ for everybody who reaches this machine.
install() {
  [ ! -x "$bin/rabbitmq-server" ] || return 0
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || missing "no $bin/rabbitmq-server, and this is no Debian on which we are root"
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends rabbitmq-server >/dev/null; } || missing "apt-get has no rabbitmq-server"
}

# The process that was started is the one that becomes Erlang's, except where a shell stays above it; node.pid is what the node says of itself.
stop() {
  local node=
  [ ! -e "$dir/node.pid" ] || node=$(cat "$dir/node.pid")
  if [ -n "$node" ] && kill -0 "$node" 2>/dev/null; then
    kill "$node"
    for _ in $(seq 200); do kill -0 "$node" 2>/dev/null || break; sleep 0.1; done
    ! kill -0 "$node" 2>/dev/null || kill -9 "$node"
  fi
  end rabbitmq
  epmd_ends
}

# epmd, which the node has started beside itself, stays otherwise.
epmd_ends() { ERL_EPMD_PORT=$((port + 3)) epmd -kill >/dev/null 2>&1 || true; }

killed() {
  local node
  node=$(cat "$dir/node.pid") || die "it does not run"
  kill -9 "$node"
  while kill -0 "$node" 2>/dev/null; do sleep 0.02; done
  ! alive rabbitmq || crash rabbitmq
  rm -f "$dir/node.pid" "$dir/rabbitmq.pid"
}

exported() {
  export CANCHA_RABBITMQ=amqp://guest:guest@127.0.0.1:$port/ CANCHA_RABBITMQ_API=http://guest:guest@127.0.0.1:$((port + 1)) CANCHA_RABBITMQ_SH=$self
}

case "${1:-}" in
with)
  shift
  [ $# -gt 0 ] || die "with: which command?"
  alive rabbitmq && die "already running in $dir: stop it first"
  rm -rf "$dir"
  trap stop EXIT
  start
  exported
  "$@"
  ;;
start) start; exported; echo "CANCHA_RABBITMQ=$CANCHA_RABBITMQ CANCHA_RABBITMQ_API=$CANCHA_RABBITMQ_API CANCHA_RABBITMQ_SH=$CANCHA_RABBITMQ_SH" ;;
stop) stop ;;
fresh) stop; rm -rf "$dir/data"; start ;;
kill) killed ;;
install) install ;;
ctl) shift; exec ${as[@]+"${as[@]}"} env "${settings[@]}" "$bin/rabbitmqctl" "$@" ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,15p >&2; exit 2 ;;
esac
