#!/usr/bin/env bash
# The whole bar, the same on a laptop and in CI.
#
#   scripts/check.sh            every step that a change can affect, see below
#   scripts/check.sh --all      every step
#   scripts/check.sh --quick    the inner loop: the tests beside the code, under 90 seconds
#   scripts/check.sh STEP...    these steps alone, one after the other
#   scripts/check.sh --list     the names of the steps
#
# What is missing on the machine is named first, and installed where Debian or npm has it.
# Then the steps run in lanes side by side. Each prints its seconds, the seconds of processor time
# that its commands took, and its output if it fails; the others continue, so that one run
# names everything that is wrong. The bar is green if every step ended with status 0: one that
# never ran fails it. A green bar prints the size of the code at the end, which fails nothing.
#
# A green whole bar of a clean checkout notes its commit in the git directory. The next one leaves out
# release, windows, peers, conformance and torture if no package and no file that they use has changed
# since then, and says so. Without a note, as in CI, everything runs. Go remembers the results of
# all other tests by itself.
#
# Nothing here searches by chance: each fuzz target runs over its corpus, as with go test.
# scripts/fuzz.sh searches.
#
# One command a line: set -e does not see that the left side of && failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# One set of flags for all builds, so that each package is compiled once for the tests, and once for
# the race detector.
export GOFLAGS=-trimpath CGO_ENABLED=0

# The lanes of the whole bar. A step is the function of the same name below.
lanes=(
	"format modules vet race staticcheck vet-windows release"
	"tests"
	"peers-install peers torture conformance windows"
)
quick_lanes=("format tests-quick")

# The packages in which goroutines share memory. They are tested with the race detector, all others
# without it: it takes five times the processor time.
raced=(
	./internal/{bench,capture,capture/rows,compress/packed,demo,httpconn,jsonraw,judge,match/...,mcpserver,mock,proxy}
	./internal/{cli,cli/batch,cli/check/probe,cli/cmdutil,cli/console,cli/faulty,cli/inspect,cli/liveview,cli/serve,cli/session}
	./internal/{client,client/auth,client/keepalive,client/process,client/transport,connect,connect/gateway,connect/host}
	./internal/{live,live/control,otlp/send,reload,render/term,sliceutil,spool,telemetry,tui,web}
)

format() {
	local unformatted
	unformatted=$(go run mvdan.cc/gofumpt@v0.12.0 -l cmd internal scripts)
	if [[ -n $unformatted ]]; then
		printf 'gofumpt would change:\n%s\n' "$unformatted"
		return 1
	fi
}

vet() {
	go vet -tags programs ./...
	go vet -tags peers,torture ./internal/tests/... ./internal/web/...
}

# Other systems are checked by TestCompilesForOtherSystems.
vet-windows() {
	GOOS=windows go vet ./cmd/... ./internal/...
}

modules() {
	go mod tidy -diff
	go mod verify
}

staticcheck() {
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
}

race() {
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 go test -race -tags programs -vet=off -timeout 20m -parallel 6 "${raced[@]}"
}

# tests tests all other packages, with the tests that start programs of the machine.
tests() {
	local with_race others
	with_race=$(go list "${raced[@]}")
	others=$(go list ./... | grep -vxF "$with_race")
	# shellcheck disable=SC2086
	go test -tags programs -vet=off -timeout 20m -parallel 6 $others
}

# tests-quick tests what has its tests beside it: not the programs of the machine, nor whole runs of mcpc as
# in internal/tests. Many of these tests wait, so more packages than cores run at once. Go vets the packages that
# it tests.
tests-quick() {
	local beside
	beside=$(go list ./... | grep -v -e '^mcpc/cmd/' -e '^mcpc/internal/tests/' -e '^mcpc/scripts')
	# shellcheck disable=SC2086
	go test -short -p 6 -parallel 6 $beside
}

# torture lets each fallible system call fail once; it is there for Linux on amd64.
torture() {
	go test -tags torture -timeout 20m -count=1 -parallel 12 ./internal/tests/torture
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
	go test -tags peers -timeout 20m -count=1 -parallel 4 -run Peer ./internal/tests/peers ./internal/web
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

# uses prints what a step uses: directories of packages, and names that files begin with. A step
# without a line here always runs.
uses() {
	case $1 in
	release)
		packages_of ./cmd/mcpc
		printf '%s\n' scripts/release README.md CHANGELOG.md LICENSE docs/
		;;
	windows)
		packages_of -test ./cmd/mcpc ./internal/{state,client/...,tty}
		echo scripts/windows.sh
		;;
	peers-install | peers)
		packages_of -test -tags peers ./internal/tests/peers ./internal/web
		printf '%s\n' scripts/peers README.md docs/
		;;
	torture) packages_of -test -tags torture ./internal/tests/torture ./cmd/mcpc ;;
	conformance)
		packages_of ./cmd/mcpc
		echo scripts/conformance
		;;
	esac
}

# packages_of prints the directories of packages of mcpc, and of those that they import.
packages_of() {
	go list -deps -f '{{if .Module}}{{if .Module.Main}}{{.Dir}}/{{end}}{{end}}' "$@" | sed "s|^$PWD/||"
}

# changed_files prints the files that differ from the commit of the last green bar. It fails if there is
# no such commit.
changed_files() {
	local commit
	commit=$(cat "$note" 2>/dev/null) || return
	git diff --name-only "$commit" -- 2>/dev/null || return
	git ls-files --others --exclude-standard
}

# untouched reports whether a step needs not run: no file that it uses has changed. A step whose packages
# cannot be listed runs.
untouched() {
	local file used prefix
	# A shell of its own: set -e does not hold in the functions of a condition.
	used=$(bash -c "set -euo pipefail; $(declare -f uses packages_of); uses $1") || return 1
	[[ -n $used ]] || return 1
	while IFS= read -r file; do
		case $file in
		go.mod | go.sum | scripts/check.sh | scripts/preflight.sh) return 1 ;;
		esac
		while IFS= read -r prefix; do
			[[ $file != "$prefix"* ]] || return 1
		done <<<"$used"
	done <<<"$changed"
}

main() {
	local preflight=() known="${lanes[*]} ${quick_lanes[*]}" step steps
	case ${1:-} in
	'') whole=1 leave_out=1 ;;
	--all) whole=1 ;;
	--quick) lanes=("${quick_lanes[@]}") preflight=(--quick) ;;
	--list) printf '%s\n' ${lanes[*]}; return ;;
	-*) usage ;;
	*) lanes=("$*") ;;
	esac
	for step in ${lanes[*]}; do
		[[ " $known " == *" $step "* ]] || usage
	done
	make_work
	trap 'exit 130' INT
	trap 'exit 143' TERM
	scripts/preflight.sh install "${preflight[@]}"
	if git=$(git rev-parse --git-common-dir 2>/dev/null); then
		note=$git/green-bar
	fi
	if [[ -n $leave_out ]] && ! changed=$(changed_files); then
		leave_out=
	fi
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

# make_work makes the directory for the logs and temporary files of the steps. It has the same name in each
# run, since Go runs a test again if TMPDIR differs.
make_work() {
	local pid
	work=${TMPDIR:-/tmp}/check-$EUID-$(cksum <<<"$PWD" | cut -d ' ' -f 1)
	if ! mkdir "$work" 2>/dev/null; then
		pid=$(cat "$work/pid" 2>/dev/null) || true
		if [[ -n $pid ]] && kill -0 "$pid" 2>/dev/null; then
			echo "check: process $pid checks this directory already" >&2
			exit 1
		fi
		rm -rf "$work"
		mkdir "$work"
	fi
	trap finish EXIT
	echo $$ >"$work/pid"
}

usage() {
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2
	exit 2
}

whole='' leave_out='' changed='' note='' running=()
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
		if [[ -n $leave_out ]] && untouched "$name"; then
			printf '%-14s left out: nothing that it uses has changed since the last green bar\n' "$name"
			echo 0 >"$work/$name.status"
			continue
		fi
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
	if [[ -n $whole && -n $note && -z $(git status --porcelain) ]]; then
		git rev-parse HEAD >"$note"
	fi
	echo "check: ok ($SECONDS s)"
	if [[ -n $whole ]]; then
		scripts/size.sh
	fi
}

main "$@"
