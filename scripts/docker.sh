#!/usr/bin/env bash
# The compose file and the images on a real Docker engine: built, started, and looked at as a user would. Each check prints a row: profile, check, what it saw.
#
#   scripts/docker.sh [PROFILE...]    of "default jobs monitoring upgrade", which is all
#
# The engine is the one that is there, or scripts/docker/engine.sh starts one, and ends it; where no registry is in reach, it also makes what stands for
# the images. It takes 12 GB and the ports of .env.example. Exit 3: no engine can be had here. Exit 1: a check has failed.
set -uo pipefail
cd "$(dirname "$0")/.."
[ ! -e .env ] || { echo "docker.sh: there is a .env, whose settings are yours" >&2; exit 1; }
settings=$(scripts/docker/engine.sh up) || exit
eval "$settings"
export CANCHA_UI_TOKEN RABBITMQ_PASS CANCHA_JOBS_TOKEN
CANCHA_UI_TOKEN=$(openssl rand -hex 16) RABBITMQ_PASS=$(openssl rand -hex 16) CANCHA_JOBS_TOKEN=$(openssl rand -hex 16)
failed=0
profiles=(--profile jobs --profile monitoring)
tmp=$(mktemp -d)
trap 'docker compose "${profiles[@]}" down -v > /dev/null 2>&1; rm -rf "$tmp"; [ -z "$settings" ] || scripts/docker/engine.sh down' EXIT

row() { # row PROFILE CHECK COMMAND...: its last line is what it saw
  local profile=$1 check=$2 begin=$SECONDS code=0
  shift 2
  "$@" > "$tmp/out" 2>&1 || code=$?
  if [ "$code" -ne 0 ]; then
    failed=1
    cat "$tmp/out"
  fi
  printf '%-10s | %-40s | %-6s | %4d s | %s\n' "$profile" "$check" "$([ "$code" -eq 0 ] && echo ok || echo FAILED)" $((SECONDS - begin)) "$(tail -n 1 "$tmp/out" | cut -c1-100)"
}

lab() { docker compose exec -T jupyter-lab sh -c "$1"; }
folder() { lab '[ -w notebooks ] && echo notebooks || echo notebooks-copy'; }
worker() { docker compose exec -T cpu-worker /usr/local/bin/cancha "$@"; }

# until SECONDS COMMAND...: run a command again and again until it succeeds
until_ok() {
  local limit=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $limit ] || return 1
    sleep 1 # polls
  done
}

healthy() { # healthy SERVICE...
  local service
  for service in "$@"; do
    until_ok 120 eval "docker compose ${profiles[*]} ps --format '{{.Status}}' $service | grep healthy" || return
  done
}

status() { # status WANT URL [TOKEN]: what a page answers
  local got
  got=$(curl -s -o /dev/null -w '%{http_code}' ${3:+-H "Authorization: Bearer $3"} "$2")
  echo "$2 answers $got, $1 is wanted"
  [ "$got" = "$1" ]
}

notebook() { # notebook NUMBER [PARAMETER VALUE]...: by papermill, in the container
  local number=$1 parameters=''
  shift
  while [ $# -gt 1 ]; do parameters+=" -p $1 $2"; shift 2; done
  lab "cd $(folder) && papermill$parameters --no-progress-bar ${number}_*.ipynb /tmp/$number.ipynb && ls -s /tmp/$number.ipynb"
}

default() {
  row default 'config of all profiles' docker compose --env-file .env.example --profile '*' config -q
  row default build docker compose build producer jupyter-lab
  row default 'size of cancha-lab' docker image ls --format '{{.Size}}' cancha-lab
  row default 'size of cancha' docker image ls --format '{{.Size}}' cancha
  row default up docker compose up -d
  row default healthy healthy kafka jupyter-lab
  row default 'JupyterLab without the token' status 403 "http://127.0.0.1:8888/api/contents"
  row default 'cancha doctor' lab "cancha doctor | tee /dev/stderr | grep -q 'self-test    kernel ready' && cancha doctor | grep 'ok    engine'"
  row default '01' notebook 01
  row default '02, short' notebook 02 matches 60 trees 20
  row default '03, the broker of the compose file' notebook 03 events 1500
  row default 'writes its root' lab '! touch /usr/local/x && id -u'
  row default 'a restart keeps the home' restart
}

restart() {
  lab 'touch .kept' && docker compose restart jupyter-lab && healthy jupyter-lab && lab 'ls .kept'
}

jobs() {
  row jobs up docker compose --profile jobs up -d rabbitmq scheduler cpu-worker monitor
  row jobs healthy healthy rabbitmq scheduler cpu-worker
  row jobs 'a job' worker job submit -wait -type matrix_multiply -p size=64
  row jobs 'the page without the token' status 403 http://127.0.0.1:8000/jobs
  row jobs 'the page with it' status 200 http://127.0.0.1:8000/jobs "$CANCHA_JOBS_TOKEN"
  row jobs 'health checks log nothing' quiet
  row jobs 'down and up keeps results' kept
}

quiet() { # while health checks go on, RabbitMQ logs no further errors
  local before
  before=$(docker compose logs rabbitmq 2>&1 | grep -c '\[error\]')
  sleep 35 # two health checks of each
  [ "$(docker compose logs rabbitmq 2>&1 | grep -c '\[error\]')" = "$before" ] && echo "still $before errors"
}

kept() {
  local before
  before=$(worker job list -n 100 | wc -l)
  docker compose "${profiles[@]}" down && docker compose --profile jobs up -d rabbitmq scheduler cpu-worker && healthy cpu-worker && [ "$(worker job list -n 100 | wc -l)" = "$before" ] && echo "$before lines of jobs"
}

monitoring() {
  row monitoring up docker compose "${profiles[@]}" up -d prometheus scheduler cpu-worker
  row monitoring healthy healthy prometheus
  row monitoring 'the scheduler is scraped' until_ok 60 scraped cancha-jobs
  row monitoring 'RabbitMQ is scraped' until_ok 60 scraped rabbitmq
}

scraped() { # scraped JOB
  curl -s http://127.0.0.1:9090/api/v1/targets | python3 -c '
import json, sys
print([t["health"] for t in json.load(sys.stdin)["data"]["activeTargets"] if t["labels"].get("job") == sys.argv[1]])' "$1" | tee /dev/stderr | grep -q "'up'"
}

upgrade() { # a changed program in a new image is what notebooks run, though the home is an older image's
  docker compose up -d > /dev/null 2>&1
  local before
  before=$(lab 'cksum < /usr/local/share/jupyter/kernels/cancha/cancha')
  row upgrade 'build after a changed line' changed
  docker compose up -d jupyter-lab > /dev/null 2>&1
  row upgrade 'the kernel is the new one' eval "healthy jupyter-lab && [ '$before' != \"\$(lab 'cksum < /usr/local/share/jupyter/kernels/cancha/cancha')\" ] && lab 'jupyter kernelspec list | grep cancha'"
  row upgrade '01' notebook 01
}

changed() {
  git worktree add -q --detach "$tmp/tree" && echo '// changed' >> "$tmp/tree/cmd/cancha/main.go" # the program has its own sources
  DOCKER_BUILDKIT=1 docker build -q -f "$tmp/tree/jupyter/lab/Dockerfile" --target lab -t cancha-lab "$tmp/tree"
  local code=$?
  git worktree remove --force "$tmp/tree"
  return $code
}

scripts/docker/engine.sh bases
for part in "${@:-default jobs monitoring upgrade}"; do
  for one in $part; do $one; done
done
exit $failed
