#!/usr/bin/env bash
# Searches for inputs that make a fuzz target fail, apart from scripts/check.sh, which
# runs each target over its corpus alone, as go test does.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]   searches for that long (45) in each target, or
#                                           in those that are named, as FuzzWrap
#
# PARALLEL=N searches with N processes in place of one for each core. An input that fails
# is left in testdata/fuzz/TARGET of the package, to be committed with its mend; the search
# goes on with the next target. The exit status is 1 if there was any.
set -euo pipefail
cd "$(dirname "$0")/.."

# The fuzzer gives one input 10 seconds; a search must be longer to see that one never ends.
shortest=15

main() {
	local seconds=${1:-45} targets=0 failed=() file target package
	shift || true
	if [[ ! $seconds =~ ^[0-9]+$ ]] || ((seconds < shortest)); then
		echo "fuzz: SECONDS is a number from $shortest on" >&2
		exit 2
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	while IFS=: read -r file target; do
		if (($# > 0)) && [[ " $* " != *" $target "* ]]; then
			continue
		fi
		targets=$((targets + 1))
		package=$(dirname "$file")
		build "$package"
		if ! search "$package" "$target" "$seconds"; then
			failed+=("$target in $package")
		fi
	done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed 's/func //' | sort)
	if ((targets == 0)); then
		echo "fuzz: no such target" >&2
		exit 2
	fi
	echo "fuzz: $targets targets, $seconds s each, ${#failed[@]} failed"
	if ((${#failed[@]} > 0)); then
		printf 'fuzz: failed: %s\n' "${failed[@]}" >&2
		exit 1
	fi
}

# build compiles the targets of a package once, with the counters of coverage.
build() {
	if [[ ! -x $work/${1//\//-}.test ]]; then
		go test -c -fuzz=. -o "$work/${1//\//-}.test" "./$1"
	fi
}

# search runs one target, and prints the log if it failed. The fuzzer of Go also ends with an
# error if the time is over while an input is tried ("context deadline exceeded"); that alone
# is no find.
search() {
	local package=$1 target=$2 log=$work/log status=0
	(cd "$package" && "$work/${package//\//-}.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${3}s" \
		-test.fuzzcachedir "$(go env GOCACHE)/fuzz/mcpc/$package" -test.parallel "${PARALLEL:-$(nproc)}") >"$log" 2>&1 || status=$?
	if ((status != 0)) && { grep -q 'Failing input written to\|^panic:' "$log" || ! grep -q 'context deadline exceeded' "$log"; }; then
		cat "$log"
		return 1
	fi
	printf '%-28s %s\n' "$target" "$(grep -o 'execs: [0-9]*.*' "$log" | tail -n 1)"
}

main "$@"
