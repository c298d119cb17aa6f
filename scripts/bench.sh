#!/usr/bin/env bash
# Measures mcpc beside a raw Go program, curl, the Go SDK, mcptools, the Inspector and mcporter,
# and judges it by the goals in scripts/bench/run/rows.go.
#
#   bench.sh [--rounds N]   measure, print the tables, append to bench/history.tsv
#     --no-node        without the programs that need Node
#     --only REGEXP    only the rows whose key in the history matches, and the start
#     --flat           measure instead whether mcpc's memory is the same for small and large
#                      answers; takes long
#     --docs           write the tables into docs/dev/speed.md
#     --no-history     append nothing
#     --bin FILE       measure this mcpc and build none
#     --against FILE   measure another mcpc in the same rounds, as mcpc-b
#   bench.sh install [--no-node]               only install, into .peers/bench, or bench below MCPC_PEERS
#
# All contenders run in turn within a round, and only what ran in the same round
# is compared: a machine that is busy slows all of them down. A ratio of one run
# may be compared to a ratio of another, milliseconds may not.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source_dir=$root/scripts/bench
peers_dir=${MCPC_PEERS:-.peers}
[[ $peers_dir == /* ]] || peers_dir=$root/$peers_dir
bench_dir=$peers_dir/bench

main() {
  local only_install='' with_node=1 bin='' commit='' only='' docs='' history=$source_dir/history.tsv args=()
  while (($# > 0)); do
    case $1 in
      install) only_install=1 ;;
      --no-node) with_node= ;;
      --flat) args+=(-flat) ;;
      --docs) docs=$root/docs/dev/speed.md ;;
      --no-history) history= ;;
      --rounds) args+=(-rounds "${2:?$1 needs a value}"); shift ;;
      --only) only=${2:?$1 needs a value}; shift ;;
      --bin) bin=$(absolute "${2:?--bin needs a file}"); shift ;;
      --against) args+=(-against "$(absolute "${2:?--against needs a file}")"); shift ;;
      *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
    shift
  done
  if [[ -n $only && -n $docs ]]; then
    echo "bench.sh: --docs needs all rows: leave out --only" >&2
    exit 2
  fi
  install
  if [[ -n $only_install ]]; then
    return
  fi
  if [[ -z $bin ]]; then
    bin=$bench_dir/bin/mcpc
    commit=$(commit_here)
    # As it is released: without libc, whose start is a millisecond.
    CGO_ENABLED=0 go -C "$root" build -trimpath -ldflags '-s -w' -o "$bin" ./cmd/mcpc
  fi
  if [[ -n $with_node ]]; then
    args+=(-node "$(find_node)" -modules "$bench_dir/node_modules")
  fi
  "$bench_dir/bin/run" -bin "$bench_dir/bin" -mcpc "$bin" -commit "${commit:-$(commit_of "$bin")}" -history "$history" \
    -only "$only" -docs "$docs" "${args[@]}"
}

absolute() {
  echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}

# commit_here names what is built here; + says that the product has changes in it.
commit_here() {
  local changed=
  if [[ -n $(git -C "$root" status --porcelain -- cmd internal go.mod) ]]; then
    changed=+
  fi
  echo "$(git -C "$root" rev-parse --short HEAD)$changed"
}

# commit_of FILE is what the go command wrote into a program that it built, or
# else the name of the file.
commit_of() {
  local revision
  revision=$(go version -m "$1" | sed -n 's/.*vcs\.revision=\(.\{7\}\).*/\1/p')
  echo "${revision:-$(basename "$1")}"
}

# --- installing --------------------------------------------------------------

# The lock is held to the end: two benches at once would measure each other.
install() {
  mkdir -p "$bench_dir/bin"
  exec 9>"$bench_dir/.lock"
  if command -v flock >/dev/null; then
    flock 9
  fi
  GOWORK=off CGO_ENABLED=0 go -C "$source_dir" build -trimpath -o "$bench_dir/bin/" ./...
  GOWORK=off CGO_ENABLED=0 go -C "$source_dir" build -trimpath -tags schemas -o "$bench_dir/bin/raw-schemas" ./raw
  GOWORK=off CGO_ENABLED=0 go -C "$source_dir/mcptools" build -trimpath -o "$bench_dir/bin/mcptools" github.com/f/mcptools/cmd/mcptools
  if [[ -n $with_node ]] && ! has_packages; then
    rm -f "$bench_dir/.stamp"
    cp "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" "$bench_dir/"
    npm ci --prefix "$bench_dir" --ignore-scripts --no-audit --no-fund --loglevel=error
    hash_of_packages >"$bench_dir/.stamp"
  fi
}

has_packages() {
  [[ -f $bench_dir/.stamp && $(<"$bench_dir/.stamp") == "$(hash_of_packages)" ]]
}

hash_of_packages() {
  cat "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" | sha256sum
}

# find_node prints the path of a Node that runs mcporter and the Inspector: 24 or newer.
find_node() {
  local node check='process.exit(parseInt(process.versions.node) < 24 ? 1 : 0)'
  for node in "$bench_dir"/node_modules/node-*/bin/node "$(command -v node || true)"; do
    if [[ -x $node ]] && "$node" -e "$check"; then
      printf '%s\n' "$node"
      return
    fi
  done
  echo "bench.sh: mcporter needs Node 24 or newer: --no-node goes without" >&2
  return 1
}

main "$@"
