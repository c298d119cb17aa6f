#!/usr/bin/env bash
# What live telemetry costs a proxied call, and what a bad collector does to the traffic.
#
#   telemetry.sh [--seconds N] [--rate R]     60 seconds and 1,000 calls a second by default
#
# A call through a proxy that sends spans is measured against one through a proxy that does not,
# in turns, by mcpc bench. Then the collector is killed, stopped, and slowed down, each while calls
# are made at the rate: none may fail, and what was dropped must have been counted. Needs
# scripts/peers.sh install.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
peers_dir=${MCPC_PEERS:-.peers}
[[ $peers_dir == /* ]] || peers_dir=$root/$peers_dir
seconds=60 rate=1000
while (($# > 0)); do
	case $1 in
	--seconds) seconds=${2:?} ;;
	--rate) rate=${2:?} ;;
	*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
	esac
	shift 2
done
work=$(mktemp -d "${TMPDIR:-/tmp}/telemetry.XXXXXX")
pids=()
finish() {
	local pid
	for pid in "${pids[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$work"
}
trap finish EXIT
CGO_ENABLED=0 go -C "$root" build -trimpath -ldflags '-s -w' -o "$work/mcpc" ./cmd/mcpc
go -C "$root/scripts/bench" build -o "$work/server" ./server
export MCPC_STATE=$work/state

# start NAME COMMAND...: in the background, with its output in NAME.log.
start() {
	local name=$1
	shift
	"$@" >"$work/$name.log" 2>&1 &
	pids+=("$!")
	echo "$!" >"$work/$name.pid"
}

# await PORT: until something listens there.
await() {
	local try
	for try in {1..600}; do
		if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
		sleep 0.05
	done
	echo "nothing listens on port $1" >&2
	return 1
}

collector() { # PORT NAME
	start "$2" "$peers_dir/bin/otel" -port "$1" -grpc $(($1 + 1)) -query $(($1 + 2)) -out "$work/$2.jsonl"
	await "$1"
}

start server "$work/server" -port 25210
await 25210
start plain "$work/mcpc" proxy --to http://127.0.0.1:25210/mcp --listen 127.0.0.1:25211 --no-record
collector 25220 collector
start live "$work/mcpc" proxy --to http://127.0.0.1:25210/mcp --listen 127.0.0.1:25212 --no-record --otlp http://127.0.0.1:25220
await 25211
await 25212
echo "== a call through a proxy, without and with --otlp, in turns"
"$work/mcpc" bench http://127.0.0.1:25211/mcp get-sum a=1 b=2 --against http://127.0.0.1:25212/mcp --rate 200 --duration "${seconds}s" --warmup 200 --no-record || echo "exit code $?"

# bad NAME HOW: HOW spoils the collector of a new proxy while calls are made.
port=25230
bad() {
	local name=$1 status=0
	port=$((port + 10))
	collector "$port" "$name-collector"
	start "$name" "$work/mcpc" proxy --to http://127.0.0.1:25210/mcp --listen "127.0.0.1:$((port + 5))" --no-record --otlp "http://127.0.0.1:$port"
	await "$((port + 5))"
	echo "== $name collector, $rate calls a second"
	(sleep 2 && "$2" "$(cat "$work/$name-collector.pid")") &
	"$work/mcpc" bench "http://127.0.0.1:$((port + 5))/mcp" get-sum a=1 b=2 --rate "$rate" --i-know --duration "${seconds}s" --no-record --expect 'error_rate<0.0001%' || status=$?
	kill -INT "$(cat "$work/$name.pid")"
	wait "$(cat "$work/$name.pid")" || true
	echo "exit code $status; the proxy said:"
	grep telemetry "$work/$name.log" || echo "nothing was lost"
}
killed() { kill -KILL "$1"; }
stopped() { kill -STOP "$1"; }
slowed() { # it runs a tenth of the time
	local end=$((SECONDS + seconds))
	while ((SECONDS < end)); do
		kill -STOP "$1"
		sleep 0.9
		kill -CONT "$1"
		sleep 0.1
	done
}
bad killed killed
bad stuck stopped
bad slow slowed
