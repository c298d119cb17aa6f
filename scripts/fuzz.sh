#!/usr/bin/env bash
# Runs every fuzz target of the module for a while: scripts/fuzz.sh [TIME]
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-3s}
found=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A target has failed when there is an input that makes it fail. Go's fuzzer also
# ends with status 1 when the time runs out while a worker is busy ("context
# deadline exceeded"), and then has nothing to show.
failed() {
	grep -q 'Failing input written to\|^panic:\|build failed' "$log" || ! grep -q 'context deadline exceeded' "$log"
}

while IFS=: read -r file target; do
	found=$((found + 1))
	dir=./$(dirname "$file")
	if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" >"$log" 2>&1 && failed; then
		cat "$log"
		echo "fuzz: $target in $dir" >&2
		exit 1
	fi
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed 's/func //')
[ "$found" -gt 0 ] || { echo "fuzz: no targets found" >&2; exit 1; }
echo "fuzz: $found targets, $time each"
