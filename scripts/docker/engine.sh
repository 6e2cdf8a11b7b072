#!/usr/bin/env bash
# A Docker engine with Compose, for scripts/docker.sh: the one that is there, or one of Debian's packages (docker.io) in a folder of its own, with
# Compose built from its Go module. Where no registry is reached, images of the names that the project's files ask for are made of Debian's
# packages and of Maven's: they stand for the real ones, and are not those.
#
#   scripts/docker/engine.sh up      starts it, and prints what the environment needs:  eval "$(scripts/docker/engine.sh up)"
#   scripts/docker/engine.sh bases   makes what images are missing
#   scripts/docker/engine.sh down    ends an engine that up has started
#
# Exit 3: there is no engine, and none can be had here (root on Debian can).
set -euo pipefail
cd "$(dirname "$0")/../.."
place=${DOCKER_PLACE:-/tmp/cancha-docker} compose_version=v2.40.3
missing() { echo "skipped: $1" >&2; exit 3; }

up() {
  if ! docker info > /dev/null 2>&1; then
    started
    export DOCKER_HOST=unix://$place/docker.sock DOCKER_CONFIG=$place/config
    echo "export DOCKER_HOST=$DOCKER_HOST DOCKER_CONFIG=$DOCKER_CONFIG"
  fi
  docker compose version > /dev/null 2>&1 || compose
}

started() { # an engine of our own
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || missing "there is no Docker engine, and only root on Debian can start one here"
  if ! command -v dockerd > /dev/null; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends docker.io iptables; } > /dev/null 2>&1 || missing "Debian's docker.io cannot be had"
  fi
  mkdir -p "$place"
  if ! docker -H "unix://$place/docker.sock" info > /dev/null 2>&1; then
    setsid nohup dockerd --data-root "$place/data" --exec-root "$place/run" --pidfile "$place/pid" -H "unix://$place/docker.sock" \
      --exec-opt native.cgroupdriver=cgroupfs --storage-driver overlay2 > "$place/log" 2>&1 < /dev/null &
  fi
  for _ in $(seq 120); do
    ! docker -H "unix://$place/docker.sock" info > /dev/null 2>&1 || return 0
    sleep .5 # polls
  done
  tail -n 20 "$place/log" >&2
  missing "dockerd does not start"
}

compose() { # Compose's module has exclude directives, with which "go install" takes no module
  local dir
  export DOCKER_CONFIG=${DOCKER_CONFIG:-$HOME/.docker}
  dir=$(cd / && GO111MODULE=on go mod download -json "github.com/docker/compose/v2@$compose_version" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p') || missing "Compose cannot be had from Go's module proxy"
  mkdir -p "$DOCKER_CONFIG/cli-plugins" "$place"
  rm -rf "$place/compose"
  cp -r "$dir" "$place/compose" && chmod -R u+w "$place/compose"
  (cd "$place/compose" && GOFLAGS='' CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=$compose_version" \
    -o "$DOCKER_CONFIG/cli-plugins/docker-compose" ./cmd) >&2
  rm -rf "$place/compose"
}

# bases are the images that the project's files name, with those of .env.example.
bases() {
  local image
  for image in $(sed -n 's/^FROM \([^ ]*:[^ ]*\).*/\1/p' jupyter/lab/Dockerfile | sort -u) $(docker compose --env-file .env.example --profile '*' config --images | grep -v '^cancha' | sort -u); do
    if docker image inspect "$image" > /dev/null 2>&1; then
      continue
    elif timeout 60 docker pull -q "$image" > /dev/null 2>&1; then
      echo "$image is the registry's"
    elif stand_in "$image"; then
      echo "$image stands for the real one"
    else
      echo "$image cannot be had"
    fi
  done
}

# stand_in NAME: makes an image of that name; 1 where nothing can stand for it
stand_in() {
  local steps
  case $1 in
  golang:*) steps='RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev make git && rm -rf /var/lib/apt/lists/*
COPY go /usr/local/go
ENV PATH=/go/bin:/usr/local/go/bin:$PATH GOPATH=/go GOTOOLCHAIN=local' ;;
  python:*) steps='RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/* && python3 -m venv /usr/local
ENV PIP_DISABLE_PIP_VERSION_CHECK=1' ;;
  *prom/prometheus:*) steps='RUN apt-get update && apt-get install -y --no-install-recommends prometheus wget && rm -rf /var/lib/apt/lists/* && ln -s /usr/bin/prometheus /bin/prometheus ; install -d -o 65534 -g 65534 /prometheus
USER nobody
WORKDIR /prometheus
ENTRYPOINT ["/bin/prometheus"]' ;;
  apache/kafka:*) steps='RUN apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless && rm -rf /var/lib/apt/lists/* && useradd --uid 1000 appuser
COPY lib /opt/kafka/libs
COPY kafka.sh /opt/kafka/start.sh
RUN mkdir -p /opt/kafka/bin /opt/kafka/config /var/lib/kafka/data && ln -s ../start.sh /opt/kafka/bin/kafka-broker-api-versions.sh && chown -R appuser /opt/kafka/config /var/lib/kafka
USER appuser
ENTRYPOINT ["/opt/kafka/start.sh"]' ;;
  *rabbitmq:*) steps='RUN groupadd -g 999 rabbitmq && useradd -u 999 -g 999 -d /var/lib/rabbitmq rabbitmq && apt-get update && apt-get install -y --no-install-recommends rabbitmq-server && rm -rf /var/lib/apt/lists/*
ENV HOME=/var/lib/rabbitmq RABBITMQ_LOGS=- RABBITMQ_UPGRADE_LOG=- PATH=/usr/lib/rabbitmq/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["rabbitmq-server"]' ;;
  *) return 1 ;;
  esac
  debian
  local folder
  folder=$(mktemp -d)
  case $1 in
  golang:*) cp -a "$(go env GOROOT)" "$folder/go" ;;
  apache/kafka:*) cp -r "$(scripts/kafka.sh fetch)" "$folder/lib" && cp scripts/docker/kafka.sh "$folder" ;;
  esac
  printf 'FROM cancha-debian\n%s\n' "$steps" > "$folder/Dockerfile"
  DOCKER_BUILDKIT=0 docker build -q -t "$1" "$folder" 2>&1 > /dev/null | grep -v -i 'deprecated\|buildkit\|environment-variable\|^$' || true
  rm -rf "$folder"
}

debian() { # the root of all stand-ins
  ! docker image inspect cancha-debian > /dev/null 2>&1 || return 0
  command -v debootstrap > /dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap > /dev/null
  local root=$place/root
  debootstrap --variant=minbase --include=ca-certificates,netbase,tzdata bookworm "$root" > /dev/null
  if [ -n "${SSL_CERT_FILE:-}" ]; then # this machine's own authorities, for what containers fetch
    cp "$SSL_CERT_FILE" "$root/etc/ssl/certs/ca-certificates.crt"
    printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' > "$root/etc/pip.conf"
  fi
  tar -C "$root" -c . | docker import - cancha-debian > /dev/null
  rm -rf --one-file-system "$root"
}

down() {
  [ -e "$place/pid" ] || return 0
  local pid
  pid=$(cat "$place/pid")
  DOCKER_HOST=unix://$place/docker.sock docker ps -q | DOCKER_HOST=unix://$place/docker.sock xargs -r docker rm -f > /dev/null
  kill "$pid"
  while [ -e "/proc/$pid" ]; do sleep .2; done # polls
}

case ${1:-} in
up) up ;;
bases) bases ;;
down) down ;;
*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 4,10p >&2; exit 2 ;;
esac
