#!/usr/bin/env bash
# The real MCP servers and other programs that the tests talk to.
#
#   peers.sh install [--dir DIR]           install what is missing or outdated
#   peers.sh run [--dir DIR] NAME [PORT]   become the peer NAME
#   peers.sh table [--dir DIR]             what there is, one peer a line
#   peers.sh check [--dir DIR]             say whether everything is installed
#
# Everything is in .peers, or in the directory that MCPC_PEERS or --dir names. A relative MCPC_PEERS is below
# the root of the repository, a relative DIR below the working directory.
#
# scripts/preflight.sh names the programs that this, and some of the tests, need.
#
# A line of the table: name, transport (stdio, http, sse), URL path, number of
# tools, newest revision, and from there on the words of its argv, between
# tabs. {PORT} and {DIR} (an existing temporary directory) stand for what the
# caller provides. No word starts a second process: killing the pid ends it.
# A server on HTTP listens once a TCP connect to 127.0.0.1:PORT succeeds. One whose
# transport is login is an HTTP server, too, that asks who you are; {PORT2} and
# {PORT3} are for its authorization servers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source_dir=$root/scripts/peers
peers_dir=${MCPC_PEERS:-.peers}
[[ $peers_dir == /* ]] || peers_dir=$root/$peers_dir

npm_groups=(servers-2026-08 servers-2026-01 ts-server ts-clients ts-auth inspector reports page agents)
go_modules=(go-sdk mcp-go pingme go-client otel k6 fleet)

main() {
  local command=${1:-}
  shift || true
  if [[ ${1:-} == --dir ]]; then
    mkdir -p "${2:?--dir needs a directory}"
    peers_dir=$(cd "$2" && pwd)
    shift 2
  fi
  case $command in
    install) install_all ;;
    run) run_peer "${1:?which peer? see peers.sh table}" "${2:-}" ;;
    table) print_table ;;
    check) check_all ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
}

# --- the peers ---------------------------------------------------------------

print_table() {
  # The Inspector's Node 22 takes less processor time to start than Node 20 (0.22 s instead of 0.31 s for
  # server-everything), and a little less again (0.20 s) with a compile cache.
  local node=(env "NODE_COMPILE_CACHE=$peers_dir/.compiled") found
  found=$(find "$peers_dir"/inspector/node_modules/node-linux-*/bin/node 2>/dev/null || echo node)
  node+=("$found")
  local everything_08=servers-2026-08/node_modules/@modelcontextprotocol/server-everything/dist/index.js
  local everything_01=servers-2026-01/node_modules/@modelcontextprotocol/server-everything/dist/index.js
  everything everything "$peers_dir/$everything_08"
  everything everything-2026-01 "$peers_dir/$everything_01"

  local servers=$peers_dir/servers-2026-08/node_modules/@modelcontextprotocol
  row filesystem-stdio stdio '' 14 2025-11-25 "${node[@]}" "$servers/server-filesystem/dist/index.js" '{DIR}'
  row memory-stdio stdio '' 9 2025-11-25 \
    env 'MEMORY_FILE_PATH={DIR}/memory.jsonl' "${node[@]:1}" "$servers/server-memory/dist/index.js"

  local ts_server=$peers_dir/ts-server/server.mjs
  row ts-server-http http /mcp 10 2026-07-28 "${node[@]}" "$ts_server" '{PORT}'
  row ts-server-stdio stdio '' 10 2026-07-28 "${node[@]}" "$ts_server"

  local mcp_go=$peers_dir/bin/mcp-go
  row mcp-go-http http /mcp 10 2026-07-28 "$mcp_go" -port '{PORT}'
  row mcp-go-tasks http /mcp 10 2026-07-28 "$mcp_go" -port '{PORT}' -tasks
  row mcp-go-sse sse /sse 10 2025-11-25 "$mcp_go" -port '{PORT}' -sse
  row mcp-go-stdio stdio '' 10 2026-07-28 "$mcp_go"

  local go_sdk=$peers_dir/bin/go-sdk
  row go-sdk-http http /mcp 10 2025-11-25 "$go_sdk" -port '{PORT}' -mode stateful
  row go-sdk-events http /mcp 10 2025-11-25 "$go_sdk" -port '{PORT}' -mode events
  row go-sdk-json http /mcp 10 2025-11-25 "$go_sdk" -port '{PORT}' -mode json
  row go-sdk-stateless http /mcp 10 2026-07-28 "$go_sdk" -port '{PORT}' -mode stateless
  row go-sdk-sse sse /mcp 10 2025-11-25 "$go_sdk" -port '{PORT}' -mode sse
  row go-sdk-stdio stdio '' 10 2026-07-28 "$go_sdk"

  local ts_auth=$peers_dir/ts-auth
  row ts-auth login /mcp 1 2025-11-25 "${node[@]}" "$ts_auth/server.mjs" '{PORT}' '{PORT2}' '{PORT3}'
  row ts-example-auth login /mcp 9 2025-11-25 env 'MCP_PORT={PORT}' 'MCP_AUTH_PORT={PORT2}' \
    "${node[@]:1}" --require "$source_dir/loopback.cjs" \
    "$ts_auth/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js" --oauth --oauth-strict

  row pingme-http http /pingme-mcp/mcp 1 2025-06-18 "$peers_dir/bin/pingme" -port '{PORT}'
}

# everything NAME SCRIPT: the three transports of one server-everything. It
# has 13 tools once notifications/initialized arrived, and 12 before.
everything() {
  local listen=("${node[@]}" --require "$source_dir/loopback.cjs" "$2")
  row "$1-http" http /mcp 13 2025-11-25 env 'PORT={PORT}' "${listen[@]:1}" streamableHttp
  row "$1-sse" sse /sse 13 2025-11-25 env 'PORT={PORT}' "${listen[@]:1}" sse
  row "$1-stdio" stdio '' 13 2025-11-25 "${node[@]}" "$2" stdio
}

row() {
  local IFS=$'\t'
  printf '%s\n' "$*"
}

# --- running -----------------------------------------------------------------

run_peer() {
  local name=$1 port=$2 line word argv=()
  line=$(print_table | awk -F '\t' -v name="$name" '$1 == name') # mawk and gawk agree on this
  if [[ -z $line ]]; then
    echo "peers.sh: no such peer: $name (see peers.sh table)" >&2
    exit 2
  fi
  if [[ $line == *'{PORT}'* && -z $port ]]; then
    echo "peers.sh: $name needs a port" >&2
    exit 2
  fi
  local scratch=
  if [[ $line == *'{DIR}'* ]]; then
    scratch=$(mktemp -d)
  fi
  while IFS= read -r word; do
    word=${word//'{PORT}'/$port}
    argv+=("${word//'{DIR}'/$scratch}")
  done < <(cut -f 6- <<<"$line" | tr '\t' '\n')
  exec "${argv[@]}"
}

# --- installing --------------------------------------------------------------

install_all() {
  mkdir -p "$peers_dir/bin"
  # Test packages run side by side, and each of them installs first.
  exec 9>"$peers_dir/.lock"
  if command -v flock >/dev/null; then
    flock 9
  fi
  # npm waits for the network while go compiles.
  install_each npm "${npm_groups[@]}" &
  local npm_pid=$! status=0
  install_each go "${go_modules[@]}" &
  local go_pid=$!
  wait "$npm_pid" || status=$?
  wait "$go_pid" || status=$?
  return "$status"
}

# install_each KIND NAME...: what has no stamp, or another one than its
# sources, is installed; the stamp comes last.
install_each() {
  local kind=$1 name stamp
  shift
  for name in "$@"; do
    if is_installed "$name"; then
      continue
    fi
    stamp=$(hash_of "$name")
    quietly "install_$kind" "$name"
    echo "$stamp" >"$(stamp_of "$name")"
  done
}

# Packages' own install scripts stay off: none of these servers needs one.
install_npm() {
  local target=$peers_dir/$1
  mkdir -p "$target" &&
    find "$source_dir/$1" -maxdepth 1 -type f -exec cp {} "$target/" \; &&
    npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --loglevel=error
}

install_go() {
  GOWORK=off CGO_ENABLED=0 go -C "$source_dir/$1" build -trimpath -o "$peers_dir/bin/$1" .
}

check_all() {
  local name missing=0
  for name in "${npm_groups[@]}" "${go_modules[@]}"; do
    if ! is_installed "$name"; then
      echo "peers.sh: not installed: $name" >&2
      missing=1
    fi
  done
  return "$missing"
}

is_installed() {
  [[ -f $(stamp_of "$1") && $(<"$(stamp_of "$1")") == "$(hash_of "$1")" ]]
}

stamp_of() {
  echo "$peers_dir/.stamp-$1"
}

hash_of() {
  find "$source_dir/$1" -maxdepth 1 -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum
}

# quietly COMMAND NAME: its output appears only if it fails. The || switches
# set -e off inside COMMAND.
quietly() {
  local log=$peers_dir/.log-$2 status=0
  "$@" >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    echo "peers.sh: $* failed:" >&2
    cat "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}

main "$@"
