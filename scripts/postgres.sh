#!/usr/bin/env bash
# A PostgreSQL for tests, on a free port of the loopback and on a Unix socket: Debian's package postgresql, or initdb and pg_ctl in PATH.
# Passwords are asked for on the loopback (scram-sha-256), not on the socket.
#
#   scripts/postgres.sh with COMMAND...   start one with fresh data, run COMMAND with CANCHA_POSTGRES=postgres://…, stop it
#   scripts/postgres.sh start             start one that stays; prints CANCHA_POSTGRES=…
#   scripts/postgres.sh stop              stop it
#   scripts/postgres.sh kill              kill all of it with -9 (start again serves the same data)
#
# POSTGRES_DIR (data and log; below TMPDIR), POSTGRES_BIN (where initdb is). As root it runs as the user postgres, or else nobody, because it
# refuses to run as root.
set -euo pipefail

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
dir=${POSTGRES_DIR:-${TMPDIR:-/tmp}/cancha-postgres-$(id -u)}
password=s3cret-word

die() { echo "postgres.sh: $*" >&2; exit 1; }
missing() { echo "postgres.sh: $*" >&2; exit 3; }

# tools finds the newest server.
tools() {
  bin=${POSTGRES_BIN:-}
  [ -n "$bin" ] || bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  [ -n "$bin" ] || bin=$(dirname "$(command -v initdb || echo /none/initdb)")
  [ -x "$bin/initdb" ] && [ -x "$bin/pg_ctl" ] || missing "no initdb and pg_ctl: apt-get install postgresql, or set POSTGRES_BIN"
}

# as_user runs a command as one who may run a server.
as_user() {
  if [ "$(id -u)" -ne 0 ]; then
    "$@"
    return
  fi
  local user=postgres
  id "$user" >/dev/null 2>&1 || user=nobody
  command -v setpriv >/dev/null || missing "root cannot run PostgreSQL, and there is no setpriv to become $user: run this as another user"
  setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups env HOME="$dir" "$@"
}

# free_port asks the system for a port that nobody has.
free_port() {
  local p
  for _ in $(seq 100); do
    p=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  die "no free port"
}

configure() {
  [ -e "$dir/port" ] && return
  mkdir -p "$dir"
  chmod 755 "$dir"
  if [ "$(id -u)" -eq 0 ]; then
    chown "$(as_user id -u)" "$dir"
  fi
  printf '%s\n' "$password" >"$dir/password"
  chmod 644 "$dir/password"
  as_user "$bin/initdb" -D "$dir/data" -U cancha --encoding UTF8 --no-locale --auth-local trust --auth-host scram-sha-256 --pwfile "$dir/password" \
    >"$dir/initdb.log" 2>&1 || die "initdb failed: $(tail -5 "$dir/initdb.log")"
  free_port >"$dir/port"
}

url() { echo "postgres://cancha:$password@127.0.0.1:$(cat "$dir/port")/postgres?sslmode=disable"; }

alive() { [ -e "$dir/data/postmaster.pid" ] && kill -0 "$(head -n 1 "$dir/data/postmaster.pid")" 2>/dev/null; }

# start waits until the server answers. It is a test's: what it has written need not outlive the machine.
start() {
  alive && die "already running in $dir"
  tools
  configure
  local settings="-p $(cat "$dir/port") -c listen_addresses=127.0.0.1 -c unix_socket_directories='$dir' -c fsync=off -c max_connections=20"
  as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -w -t 60 -s -o "$settings" start </dev/null >"$dir/start.log" 2>&1 ||
    die "PostgreSQL did not start: $(tail -5 "$dir/start.log" "$dir/data/log")"
}

stop() {
  alive || return 0
  tools
  as_user "$bin/pg_ctl" -D "$dir/data" -m fast -w -s stop >"$dir/stop.log" 2>&1 || die "PostgreSQL did not stop: $(tail -5 "$dir/stop.log")"
}

# slay kills the server and all that it has started, and leaves what a crash leaves.
slay() {
  alive || die "not running"
  local server processes
  server=$(head -n 1 "$dir/data/postmaster.pid")
  processes="$server $(pgrep -P "$server" | tr '\n' ' ')"
  kill -9 $processes 2>/dev/null || true
  for _ in $(seq 200); do
    kill -0 $processes 2>/dev/null || return 0
    sleep 0.05
  done
  die "processes are left of: $processes"
}

case "${1:-}" in
with)
  shift
  [ $# -gt 0 ] || die "with: which command?"
  alive && die "already running in $dir: stop it first"
  rm -rf "$dir"
  trap stop EXIT
  start
  CANCHA_POSTGRES=$(url) CANCHA_POSTGRES_SOCKET=$dir CANCHA_POSTGRES_SH=$self "$@"
  ;;
start) start; echo "CANCHA_POSTGRES=$(url)" ;;
stop) stop ;;
kill) slay ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,11p >&2; exit 2 ;;
esac
