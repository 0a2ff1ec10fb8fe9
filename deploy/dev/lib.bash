# What the scripts of this folder share. They are sourced with "set -euo pipefail" in force.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${REFRAIN_DEV:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/refrain-dev}
PATH=$cache/bin:$PATH # nats-server is there, and redis-server where the system has none

fail() {
  printf '%s: %s\n' "$program" "$*" >&2
  exit 1
}

# absent ends with status 3, by which a test tells a machine without the server from one that does not start.
absent() {
  printf '%s: %s is not there: run deploy/dev/install\n' "$program" "$1" >&2
  exit 3
}

have() { command -v "$1" >/dev/null; }

# directory makes $1 and prints its absolute path.
directory() { mkdir -p "$1" && cd "$1" && pwd -P; }

# free_port prints a port that nobody listens on. It is below the range from which systems take the ports of
# outgoing connections, so a stopped server finds its port free when it starts again.
free_port() {
  local port
  for _ in $(seq 50); do
    port=$((10000 + (RANDOM << 15 | RANDOM) % 20000))
    answers "127.0.0.1:$port" || { echo "$port" && return; }
  done
  fail "found no free port"
}

# answers tells whether something listens on HOST:PORT.
answers() { (: <"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

# runs tells whether the server NAME of DIR runs. It runs in that directory, so a process that got an old number
# again is not taken for it.
runs() {
  local dir=$1 name=$2 pid
  pid=$(cat "$dir/$name.pid" 2>/dev/null) && [ "$(readlink "/proc/$pid/cwd")" = "$dir" ]
}

# launch starts a server in DIR and in the background, with its output in DIR/NAME.log. It stays in the process
# group of its caller, so that who ends that group ends it too.
launch() {
  local dir=$1 name=$2
  shift 2
  (cd "$dir" && echo "$BASHPID" >"$name.pid" && exec "$@") </dev/null >>"$dir/$name.log" 2>&1 &
  launched=$!
}

# await returns when a command succeeds; it fails, with the end of the log, when the server just launched ends
# before or 60 s go by.
await() {
  local dir=$1 name=$2
  shift 2
  for _ in $(seq 600); do
    "$@" && return
    kill -0 "$launched" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 20 "$dir/$name.log" >&2
  kill -KILL "$launched" 2>/dev/null || true
  rm -f "$dir/$name.pid"
  fail "$name did not start; its log is $dir/$name.log"
}

# halt sends a signal to the server NAME of DIR and waits until it has ended: with force after 30 s.
halt() {
  local dir=$1 name=$2 signal=$3 pid
  if runs "$dir" "$name"; then
    pid=$(cat "$dir/$name.pid")
    kill "-$signal" "$pid" 2>/dev/null || true
    for _ in $(seq 600); do
      runs "$dir" "$name" || break
      sleep 0.05
    done
    runs "$dir" "$name" && kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$dir/$name.pid"
}

# port_of prints the port of a server: the one asked for, or that of the last time, or a free one.
port_of() {
  local file=$1 asked=${2:-} addr
  if [ -n "$asked" ]; then
    echo "$asked"
  elif addr=$(cat "$file" 2>/dev/null); then
    echo "${addr##*:}"
  else
    free_port
  fi
}

# signal_server is the part of a server's script that does not depend on the server: stop, kill, pause or continue DIR.
# Who is paused hears of a stop only when it goes on.
signal_server() {
  local name=$1 command=$2 dir
  dir=$(cd "$3" 2>/dev/null && pwd -P) || fail "no directory $3"
  case $command in
  stop) { signal "$dir" "$name" CONT || true; } && halt "$dir" "$name" TERM ;;
  kill) halt "$dir" "$name" KILL ;;
  pause) signal "$dir" "$name" STOP || fail "$name does not run" ;;
  continue) signal "$dir" "$name" CONT || fail "$name does not run" ;;
  esac
}

# What up and up3 share: the directory "dir" that holds those of the servers, and the status to end with.

# export_from prints an export of the variable $1 with what file $2 holds.
export_from() { printf 'export %s=%q\n' "$1" "$(cat "$2")"; }

# start_server starts one of them. An "if" around it keeps its failure from ending the script, and "status" has it for
# the end: 3 when some are not installed, 1 when one that is does not start.
start_server() {
  local failure=0
  "$here/$1" start "$dir/$1" || failure=$?
  [ "$failure" = 0 ] && return
  [ "$failure" = 3 ] && [ "$status" != 1 ] && status=3 || status=1
  return 1
}

# Clusters of three have a directory 1, 2, 3 below theirs for each.

# each runs a command with DIR and the number of each of the three.
each() {
  local dir=$1 n
  shift
  for n in 1 2 3; do "$@" "$dir" "$n"; done
}

# node fails unless $1 is the number of one of the three.
node() { [[ $1 == [123] ]] || fail "$1 is none of the three: 1, 2 or 3"; }

# addresses prints those that the files NAME.addr of the three hold, with commas between them.
addresses() { paste -s -d , "$1/1/$2.addr" "$1/2/$2.addr" "$1/3/$2.addr" | tr '\n' ',' | sed 's/,$/\n/'; }

# signal_nodes is signal_server for a cluster: of one, or of all at once, because the last of a cluster cannot take
# leave of the others.
signal_nodes() {
  local name=$1 command=$2 dir n nodes="1 2 3"
  dir=$(cd "$3" 2>/dev/null && pwd -P) || fail "no directory $3"
  [ $# = 3 ] || { node "$4" && nodes=$4; }
  for n in $nodes; do
    case $command in
    stop) { signal "$dir/$n" "$name" CONT || true; } && halt "$dir/$n" "$name" TERM & ;;
    kill) halt "$dir/$n" "$name" KILL & ;;
    pause) signal "$dir/$n" "$name" STOP || fail "$n does not run" ;;
    continue) signal "$dir/$n" "$name" CONT || fail "$n does not run" ;;
    esac
  done
  wait
}

signal() { runs "$1" "$2" && kill "-$3" "$(cat "$1/$2.pid")"; }
