#!/usr/bin/env bash
# Runs every fuzz target of the module for a while: scripts/fuzz.sh [TIME]
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-3s}
found=0
while IFS=: read -r file target; do
	found=$((found + 1))
	dir=./$(dirname "$file")
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" >/tmp/fuzz.$$ 2>&1 ||
		{ cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; echo "fuzz: $target in $dir" >&2; exit 1; }
	rm -f /tmp/fuzz.$$
done < <(grep -rhoE --include='*_test.go' --with-filename '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed 's/func //')
[ "$found" -gt 0 ] || { echo "fuzz: no targets found" >&2; exit 1; }
echo "fuzz: $found targets, $time each"
