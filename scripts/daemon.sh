# Servers for tests, which stay when the script ends that has started them. To be sourced, with $dir set, the folder in which each has its
# process number, NAME.pid, and what it prints, NAME.log.

# launch NAME COMMAND...: start it in $dir. It outlives the shell (setsid) and holds nothing of it (closed descriptors, such as that of flock).
launch() {
  : >"$dir/$1.log" # await may be faster
  (cd "$dir" && exec setsid "${@:2}") >"$dir/$1.log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  echo $! >"$dir/$1.pid"
  disown # its end is no news for the shell, kill -9 is one of its uses
}

alive() { [ -e "$dir/$1.pid" ] && kill -0 "$(cat "$dir/$1.pid")" 2>/dev/null; }

# await NAME TEXT SECONDS [TIMES]: wait until it has printed the text, so many times.
await() {
  local name=$1 text=$2 seconds=$3 times=${4:-1}
  for _ in $(seq $((seconds * 10))); do
    [ "$(grep -c "$text" "$dir/$name.log")" -ge "$times" ] && return
    alive "$name" || die "$name has ended: $(tail -20 "$dir/$name.log")"
    sleep 0.1
  done
  die "$name did not say \"$text\" within $seconds s: $(tail -20 "$dir/$name.log")"
}

# signal NAME SIGNAL
signal() {
  alive "$1" || die "$1 does not run"
  kill -s "$2" "$(cat "$dir/$1.pid")"
}

# crash NAME: kill -9, with what it has started.
crash() {
  alive "$1" || die "$1 does not run"
  local pid children
  pid=$(cat "$dir/$1.pid")
  children=$(pgrep -P "$pid" || true)
  kill -9 "$pid"
  # shellcheck disable=SC2086 # several numbers
  [ -z "$children" ] || kill -9 $children 2>/dev/null || true
  rm -f "$dir/$1.pid"
}

# end NAME: in order, for 20 s.
end() {
  alive "$1" || return 0
  local pid
  pid=$(cat "$dir/$1.pid")
  kill -CONT "$pid"
  kill "$pid"
  for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || { rm -f "$dir/$1.pid"; return 0; }
    sleep 0.1
  done
  crash "$1"
}
