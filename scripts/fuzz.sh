#!/usr/bin/env bash
# Searches for inputs that make a fuzz target fail, apart from scripts/check.sh, which
# runs each target over its corpus alone, as go test does.
#
#   scripts/fuzz.sh [TIME [TARGET...]]   searches for TIME in each target (10s), or in
#                                        those that are named, as FuzzWrap
#
# PARALLEL=N searches with N processes in place of one for each core. An input that fails
# is left in testdata/fuzz/TARGET of the package, to be committed with its mend; the search
# goes on with the next target. The exit status is 1 if there was any.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

main() {
	local time=${1:-10s} targets=0 failed=() file target package
	shift || true
	while IFS=: read -r file target; do
		if (($# > 0)) && [[ " $* " != *" $target "* ]]; then
			continue
		fi
		targets=$((targets + 1))
		package=$(dirname "$file")
		build "$package"
		if ! search "$package" "$target" "$time"; then
			failed+=("$target in $package")
		fi
	done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed 's/func //' | sort)
	if ((targets == 0)); then
		echo "fuzz: no such target" >&2
		exit 1
	fi
	echo "fuzz: $targets targets, $time each, ${#failed[@]} failed"
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

# search prints the log of a target that failed. The fuzzer of Go also fails where the time
# ends while an input is tried ("context deadline exceeded"), and has found nothing then.
search() {
	local package=$1 target=$2 log=$work/log status=0
	(cd "$package" && "$work/${package//\//-}.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$3" \
		-test.fuzzcachedir "$(go env GOCACHE)/fuzz/mcpc/$package" -test.parallel "${PARALLEL:-$(nproc)}") >"$log" 2>&1 || status=$?
	if ((status == 0)); then
		printf '%-28s %s\n' "$target" "$(grep -o 'execs: [0-9]*.*' "$log" | tail -n 1)"
		return
	fi
	if grep -q 'Failing input written to\|^panic:' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
		cat "$log"
		return 1
	fi
}

main "$@"
