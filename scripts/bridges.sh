#!/usr/bin/env bash
# Compares mcpc serve with mcp-remote, supergateway and mcp-proxy from npm, and prints a Markdown table.
#
#   bridges.sh [--rounds N] [JOB...]   do each job, or those whose name contains a JOB; 3 rounds by default
#     --bin FILE                       use this mcpc and build none
#   bridges.sh install                 only install, into .peers/bridges, or bridges below MCPC_PEERS
#
# bridges/package.json pins the versions. The client is the same for all, the TypeScript SDK's; the servers are
# bridges/server.mjs. Within a round all bridges do the job in turn, so that a busy machine slows all of them
# down. A cell has the seconds until the first list of the tools (the median; the ratio to mcpc), the resident
# memory of the bridge's processes at that time, and their number, or why the job failed. "-" means that
# the program has no option for the job. The programs are started by node, not by npx, which
# needs more time and memory. One job takes a minute for each program.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source_dir=$root/scripts/bridges
peers_dir=${MCPC_PEERS:-.peers}
[[ $peers_dir == /* ]] || peers_dir=$root/$peers_dir
bridges_dir=$peers_dir/bridges

main() {
  local rounds=3 bin='' jobs=()
  if [[ ${1:-} == install ]]; then
    install
    return
  fi
  while (($# > 0)); do
    case $1 in
      --rounds) rounds=${2:?$1 needs a value}; shift ;;
      --bin) bin=$(realpath "${2:?--bin needs a file}"); shift ;;
      -*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
      *) jobs+=("$1") ;;
    esac
    shift
  done
  install
  work=$(mktemp -d "${TMPDIR:-/tmp}/bridges.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if [[ -z $bin ]]; then
    bin=$work/mcpc
    CGO_ENABLED=0 go -C "$root" build -trimpath -ldflags '-s -w' -o "$bin" ./cmd/mcpc
  fi
  node "$bridges_dir/run.mjs" "$bin" "$work" "$rounds" "${jobs[@]}"
}

# install copies the sources, and installs the packages if those of another lock are there.
install() {
  local lock=$bridges_dir/package-lock.json
  mkdir -p "$bridges_dir"
  if [[ ! -d $bridges_dir/node_modules ]] || ! cmp -s "$source_dir/package-lock.json" "$lock"; then
    cp "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" "$bridges_dir"
    npm ci --prefix "$bridges_dir" --ignore-scripts --no-audit --no-fund --loglevel=error || {
      rm "$lock"
      return 1
    }
  fi
  cp "$source_dir"/*.mjs "$bridges_dir"
}

main "$@"
