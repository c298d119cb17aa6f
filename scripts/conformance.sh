#!/usr/bin/env bash
# The scenarios of the official MCP conformance suite, in both revisions, against
# the built binary: mcpc as a client, and mcpc demo with the fixtures of
# conformance/main.go as a server.
#
#   conformance.sh                        install, build, run everything
#   conformance.sh install                install the suite into .peers/conformance;
#                                         MCPC_PEERS names another directory than .peers
#   conformance.sh run [--bin FILE] [SCENARIO...]
#                                         run all client scenarios, or these;
#                                         --bin saves the build
#   conformance.sh server [--bin FILE]    run the server scenarios
#
# For the client, conformance/scenarios.txt says what is run, conformance/client.sh what a
# person would type for each, conformance/waiting.txt what waits for a feature
# of mcpc, and why. What waits is not run and not counted. So that nothing
# slips through, every client scenario of the suite has to stand in one of the
# two files, none in both, and no file may name what the suite does not have.
#
# A check is a distinct check id and name of a run; its worst status counts,
# and a warning is no pass. One more check a run is the exit status: every
# command of client.sh ended as it should, in time. scenarios.txt has the number
# of checks of a good run, so that one that was never reached is missing.
#
# The last line is "conformance: N/M checks passed, K scenarios". The exit
# status is 1 if anything failed or the number of checks is another than
# scenarios.txt says. KEEP=DIR keeps each run's log, checks and the client's own
# output in DIR/REVISION/SCENARIO.
#
# For the server, conformance/server.txt has each check of a good run, and the
# scenarios that wait. A check that fails, is missing or is new ends with exit
# status 1. So does an error that mcpc check --deep finds in the same server: neither
# may find what the other does not. KEEP=DIR keeps logs and results in DIR/server, and
# in DIR/server/suite/checks the checks as server.txt has them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source_dir=$root/scripts/conformance
peers_dir=${MCPC_PEERS:-.peers}
[[ $peers_dir == /* ]] || peers_dir=$root/$peers_dir
suite_dir=$peers_dir/conformance
side_by_side=4 # client scenarios at a time
suite=$suite_dir/node_modules/@modelcontextprotocol/conformance/dist/index.js

main() {
  case ${1:-} in
    '') install_suite; prepare; run_all; serve_all ;;
    install) install_suite ;;
    run) shift; prepare "$@"; run_all "${rest[@]}" ;;
    server) shift; prepare "$@"; serve_all ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
}

# --- installing --------------------------------------------------------------

# A Node that the suite can use comes with it, where npm has one. The lock ends
# with the subshell.
install_suite() (
  mkdir -p "$suite_dir"
  exec 9>"$suite_dir/.lock"
  if command -v flock >/dev/null; then
    flock 9
  fi
  if is_installed; then
    return
  fi
  rm -f "$suite_dir/.stamp"
  cp "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" "$suite_dir/"
  npm ci --prefix "$suite_dir" --ignore-scripts --no-audit --no-fund --loglevel=error
  hash_of_sources >"$suite_dir/.stamp"
)

is_installed() {
  [[ -f $suite_dir/.stamp && $(<"$suite_dir/.stamp") == "$(hash_of_sources)" ]]
}

hash_of_sources() {
  cat "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" | sha256sum
}

# find_node prints the path of a Node that runs the suite: 22 or newer.
find_node() {
  local node
  for node in "$suite_dir"/node_modules/node-*/bin/node "$(command -v node || true)"; do
    if [[ -x $node ]] && "$node" -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)'; then
      printf '%s\n' "$node"
      return
    fi
  done
  echo "conformance.sh: the suite needs Node 22 or newer" >&2
  return 1
}

# --- running -----------------------------------------------------------------

# prepare [--bin FILE] [WORD...] sets bin, rest, node and work.
prepare() {
  rest=("$@")
  if ! is_installed; then
    echo "conformance.sh: not installed, or outdated: scripts/conformance.sh install" >&2
    exit 2
  fi
  node=$(find_node)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if [[ ${1:-} == --bin ]]; then
    bin=$(cd "$(dirname "${2:?--bin needs a file}")" && pwd)/$(basename "$2")
    rest=("${@:3}")
  else
    bin=$work/mcpc
    go -C "$root" build -o "$bin" ./cmd/mcpc
  fi
}

run_all() {
  { entries scenarios.txt | cut -d ' ' -f 1 | sort -u; entries waiting.txt | cut -d ' ' -f 1; } | check_list client

  local scenario revision checks passed=0 total=0 failed=0 names=" " count=0
  while read -r scenario revision checks; do
    while (($(jobs -rp | wc -l) >= side_by_side)); do
      wait -n
    done
    run_one "$bin" "$scenario" "$revision" &
  done < <(chosen "$@")
  wait
  printf '%-42s %-11s %-7s %s\n' scenario revision checks exits
  while read -r scenario revision checks; do
    report "$scenario" "$revision" "$checks"
    if [[ $names != *" $scenario "* ]]; then
      names+="$scenario "
      count=$((count + 1))
    fi
  done < <(chosen "$@")
  if (($# == 0)); then
    echo "waiting: $(entries waiting.txt | wc -l | tr -d ' ') scenarios, see scripts/conformance/waiting.txt"
  fi
  echo "conformance: $passed/$total checks passed, $count scenarios"
  ((failed == 0 && total > 0))
}

# chosen [SCENARIO...] prints the lines of scenarios.txt, or those of these scenarios.
chosen() {
  local scenario line
  while read -r scenario line; do
    if (($# == 0)) || [[ " $* " == *" $scenario "* ]]; then
      printf '%s %s\n' "$scenario" "$line"
    fi
  done < <(entries scenarios.txt)
}

# folder SCENARIO REVISION prints where a run leaves its files.
folder() {
  printf '%s\n' "${KEEP:-$work}/$2/$1"
}

# report SCENARIO REVISION CHECKS prints a line of the table, and below it what
# is wrong. It adds to the counts of run_all.
report() {
  local verdict ok of exits
  verdict=$("$node" "$source_dir/count.mjs" "$(folder "$1" "$2")" "$3")
  read -r ok of exits <<<"$verdict"
  printf '%-42s %-11s %-7s %s\n' "$1" "$2" "$ok/$of" "$exits"
  if [[ $verdict == *$'\n'* ]]; then
    sed '1d;s/^/    /' <<<"$verdict"
    failed=1
  fi
  passed=$((passed + ok))
  total=$((total + of))
}

# run_one BIN SCENARIO REVISION leaves checks, exit statuses and the log in
# its folder. No variable of the caller's reaches mcpc. A suite that gives up on a
# client waits for its children all the same; the two timeouts end both.
run_one() {
  local run
  run=$(folder "$2" "$3")
  rm -rf "$run"
  mkdir -p "$run"
  run=$(cd "$run" && pwd)
  (
    for name in "${!MCPC_@}"; do unset "$name"; done
    export MCPC=$1 MCPC_STATE=$run/state EXITS=$run/exits NODE=$node CLIENT=$source_dir/client.sh
    cd "$run"
    # Extensions are of no revision, so that the suite has to be forced. It puts
    # the URL behind the command and gives both to a shell.
    # shellcheck disable=SC2016
    timeout --foreground -k 5 90 "$node" --require "$source_dir/loopback.cjs" "$suite" \
      client --scenario "$2" --spec-version "$3" --force --timeout 60000 -o "$run" \
      --command 'timeout -k 5 45 "$CLIENT"' \
      </dev/null >"$run/suite.log" 2>&1
  ) || true
}

# check_list LEG: its input names each scenario that the suite has for the leg once.
check_list() {
  local wrong
  "$node" "$suite" list "--$1" | sed -n 's/^ *- \([^ ]*\).*/\1/p' | sort >"$work/all"
  sort >"$work/listed"
  wrong=$({ comm -3 "$work/all" "$work/listed"; uniq -d "$work/listed"; } | tr -d '\t' | sort -u | tr '\n' ' ')
  if [[ -n $wrong ]]; then
    echo "conformance.sh: not exactly once in the lists of scripts/conformance, or not in the suite: $wrong" >&2
    exit 2
  fi
}

# serve_all runs the server scenarios and mcpc check --deep of each revision, each against
# a demo of its own, side by side: most of the time they wait.
serve_all() {
  go -C "$root" build -o "$work/fixtures" ./scripts/conformance
  { entries server.txt | sed -n 's/^20[^ ]* \([^ ]*\).*/\1/p' | sort -u; entries server.txt | sed -n 's/^waits //p'; } |
    check_list server

  local revision judge failed=0
  run=${KEEP:-$work}/server
  rm -rf "$run"
  for revision in 2025-11-25 2026-07-28; do
    for judge in suite check; do
      mkdir -p "$run/$judge/$revision"
      serve_one "$run/$judge/$revision" "$judge" "$revision" &
    done
  done
  wait
  for revision in 2025-11-25 2026-07-28; do
    if [[ $(cat "$run/check/$revision/exit" || true) != 0 ]]; then
      echo "mcpc check --deep --era $revision of the fixtures:"
      cat "$run/check/$revision/check.log" || true
      failed=1
    fi
  done
  echo "waiting: $(entries server.txt | grep -c '^waits ') server scenarios, see scripts/conformance/server.txt"
  entries server.txt | "$node" "$source_dir/server.mjs" "$run/suite" || failed=1
  ((failed == 0))
}

# serve_one DIR JUDGE REVISION leaves logs and results in DIR. The timeouts end what is
# left when this script is killed.
serve_one() {
  local demo name url=
  cd "$1"
  for name in "${!MCPC_@}"; do unset "$name"; done
  export MCPC_STATE=$PWD/state
  timeout --foreground -k 5 330 "$work/fixtures" 127.0.0.1:0 </dev/null >demo.log 2>&1 &
  demo=$!
  trap 'kill "$demo" 2>/dev/null || true; wait "$demo" || true' EXIT
  while [[ -z $url ]]; do
    if ! kill -0 "$demo" 2>/dev/null; then
      cat demo.log >&2
      return 1
    fi
    sleep 0.05
    url=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' demo.log)
  done
  "judge_$2" "$url" "$3"
}

judge_suite() {
  timeout --foreground -k 5 300 "$node" --require "$source_dir/loopback.cjs" "$suite" \
    server --url "$1" --requirements "$2" -o . </dev/null >suite.log 2>&1 || true
  # A revision requires no extension: their scenarios are run one by one.
  local scenario
  for scenario in $(entries server.txt | sed -n "s/^$2 \\(sep-2640-[^ ]*\\).*/\\1/p" | sort -u); do
    timeout --foreground -k 5 60 "$node" --require "$source_dir/loopback.cjs" "$suite" \
      server --url "$1" --scenario "$scenario" --spec-version "$2" --force -o . </dev/null >>suite.log 2>&1 || true
  done
}

judge_check() {
  local status=0
  timeout --foreground -k 5 300 "$bin" check "$1" --era "$2" --deep </dev/null >check.log 2>&1 || status=$?
  echo "$status" >exit
}

# entries FILE prints its lines without comments.
entries() {
  sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$source_dir/$1"
}

main "$@"
