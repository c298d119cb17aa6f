#!/usr/bin/env bash
# The whole bar, the same on a laptop and in CI.
#
#   scripts/check.sh            every step
#   scripts/check.sh --quick    the inner loop, under 90 seconds
#   scripts/check.sh STEP...    these steps alone, one after the other
#   scripts/check.sh --list     the names of the steps
#
# What is missing on the machine is named first, and installed where Debian or npm has it.
# Then the steps run in lanes side by side. Each prints its seconds, how many of them a
# processor worked for it, and its output where it fails; the others go on, so that one run
# names everything that is wrong. The bar holds if every step ended with status 0: one that
# never ran fails it.
#
# Nothing here searches by chance: each fuzz target runs over its corpus, as with go test.
# scripts/fuzz.sh searches.
#
# One command a line: set -e does not see that the left side of && failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# The lanes of the whole bar. A step is the function of the same name below.
lanes=(
	"format vet vet-windows modules staticcheck windows release"
	"packages program"
	"peers-install peers conformance torture"
)
quick_lanes=("format vet program-quick" "packages-quick")

format() {
	local unformatted
	unformatted=$(gofmt -l cmd internal scripts)
	if [[ -n $unformatted ]]; then
		printf 'gofmt would change:\n%s\n' "$unformatted"
		return 1
	fi
}

vet() {
	go vet ./...
	go vet -tags peers,torture ./cmd/mcpc ./internal/web/...
}

# vet-windows compiles as a release does, which then need not do it again. Other systems
# are checked by TestCompilesElsewhere.
vet-windows() {
	GOOS=windows go vet -trimpath ./cmd/... ./internal/...
}

modules() {
	go mod tidy -diff
	go mod verify
}

staticcheck() {
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
}

# packages tests with the race detector what starts goroutines. The detector takes five times
# the processor time, so that packages with long tests are tested with it and -short, and
# without it in full. A new package belongs to the first command or to the last.
packages() {
	go test -race -timeout 20m -parallel 6 ./internal/{cli/...,client/...,compress/...,connect/...,demo/...,http1,live/...,mcpserver/...,mock/...,otlp/...,render/term,sliceutil,spool,tui/...,web/...,wire}
	go test -race -short -timeout 20m -parallel 6 ./internal/{bench/...,capture/...,match,render/traffic,state,telemetry,validate}
	go test -timeout 20m -parallel 6 ./internal/{bench/...,capture/...,card,codegen,diff/...,english,glossary,jsonraw,lineedit,lint/...,loopback,match/...,mcp,pause,question,redact,render/...,replay,sanitize,saved,shape,shellwords,skill,sse,state,suggest,target,telemetry,tty,usage,validate/...,yaml} ./scripts
}

# program tests the command as a process, without the race detector: it would watch the tests
# and not the program, and takes half as much processor time again. What runs in several
# goroutines is tested with the detector in its own package.
program() {
	go test -timeout 20m -parallel 6 ./cmd/...
}

packages-quick() {
	go test -short -parallel 8 ./internal/... ./scripts
}

# program-quick leaves out what takes most of the time and seldom breaks alone.
program-quick() {
	local long='TestEveryExampleRuns|TestExportedCommandsSendTheSame|TestHostileCaptures$|TestConfigurationsAreOnlyRead'
	long+='|TestNoSecretOfALoginIsKeptOrShown|TestNoHeldServerIsLeft|TestScripts/^(login_ci|exit_09_timeout|keep)$'
	go test -short -skip "$long" -parallel 8 ./cmd/...
}

# torture lets each fallible call fail once; it is there for Linux on amd64.
torture() {
	go test -tags torture -timeout 20m -count=1 -parallel 12 -run Torture ./cmd/mcpc
}

# windows runs the tests of some packages under Wine.
windows() {
	scripts/windows.sh
}

peers-install() {
	scripts/peers.sh install
	scripts/conformance.sh install
}

# peers talks to real servers.
peers() {
	go test -tags peers -timeout 20m -count=1 -parallel 4 -run Peer ./cmd/mcpc ./internal/web
}

conformance() {
	scripts/conformance.sh run
	scripts/conformance.sh server
}

# release makes two of the eight platforms, twice; scripts/release.sh alone makes all.
release() {
	GOWORK=off go -C scripts/release vet .
	scripts/release.sh --only linux/amd64,windows/amd64 --twice
	scripts/release/try.sh dist
}

main() {
	local preflight=() known="${lanes[*]} ${quick_lanes[*]}" step steps
	case ${1:-} in
	'') ;;
	--quick) lanes=("${quick_lanes[@]}") preflight=(--quick) ;;
	--list) printf '%s\n' ${lanes[*]}; return ;;
	-*) usage ;;
	*) lanes=("$*") ;;
	esac
	for step in ${lanes[*]}; do
		[[ " $known " == *" $step "* ]] || usage
	done
	work=$(mktemp -d "${TMPDIR:-/tmp}/check.XXXXXX")
	trap finish EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	scripts/preflight.sh install "${preflight[@]}"
	set -m # each lane is a process group, which finish can end whole
	for steps in "${lanes[@]}"; do
		lane $steps &
		running+=("$!")
	done
	wait
	set +m
	running=()
	report
}

usage() {
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2
	exit 2
}

running=()
finish() {
	local pid
	for pid in "${running[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}

# lane runs steps one after the other.
lane() {
	set +m
	local name TIMEFORMAT='%0R %0U %0S'
	for name; do
		run "$name"
	done
}

# run runs one step, and notes its status. set -e holds within the step, since nothing here
# asks for its status before it has ended.
run() {
	local name=$1 status left seconds user system
	mkdir "$work/$name"
	set +e
	{ time { (
		exec >"$work/$name.log" 2>&1 </dev/null
		export TMPDIR=$work/$name
		set -e
		"$name"
	); }; } 2>"$work/$name.time"
	status=$?
	set -e
	# mcpc keeps sockets in mcpc-UID where the path of its state is too long for them.
	rmdir "$work/$name/mcpc-$EUID" 2>/dev/null || true
	left=$(ls -A "$work/$name")
	if [[ $status == 0 && -n $left ]]; then
		status=1
		printf 'left in TMPDIR:\n%s\n' "$left" >>"$work/$name.log"
	fi
	if [[ $status != 0 ]]; then
		sed "s/^/$name: /" "$work/$name.log"
	fi
	read -r seconds user system < <(tail -n 1 "$work/$name.time")
	printf '%-14s %4d s %4d s  %s\n' "$name" "$seconds" "$((user + system))" "$([[ $status == 0 ]] && echo ok || echo "FAILED, status $status")"
	echo "$status" >"$work/$name.status"
}

report() {
	local failed=()
	for step in ${lanes[*]}; do
		if [[ $(cat "$work/$step.status" 2>/dev/null) != 0 ]]; then
			failed+=("$step")
		fi
	done
	if ((${#failed[@]} > 0)); then
		echo "check: FAILED: ${failed[*]} ($SECONDS s)" >&2
		exit 1
	fi
	echo "check: ok ($SECONDS s)"
}

main "$@"
