#!/usr/bin/env bash
# The unit tests for Windows, run by Wine.
#
#   scripts/windows.sh              of the packages that use the system most, and one of
#                                   cmd/mcpc, whose other tests need programs of Unix
#   scripts/windows.sh PACKAGE...   of these alone, as ./internal/capture
#
# scripts/preflight.sh names the programs that this needs; x86_64-w64-mingw32-ld makes one
# small library that Wine 8 lacks.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'windows: %s\n' "$1" >&2; exit 1; }

# Those that take longest begin first.
packages=(./internal/state ./internal/client ./internal/client/auth ./internal/client/network ./internal/client/transport ./internal/tty ./cmd/mcpc)
(($# == 0)) || packages=("$@")

# Tests that Wine cannot run, and why.
skipped=(
	TestGoCompiles                         # runs the program go
	TestCurl                               # run a POSIX shell
	TestPrintGivesTheBytes
	TestScriptEndsWhereAVariableIsNotSet
	TestInterleavedLongFrames              # Wine looks for the end of a file and appends there in two steps
	TestRunsOfManyProcesses                # Wine fails to start fifty processes at once
)
in_cmd='^TestBrokenPipeIsRecognized$'

temporary=$(mktemp -d)
export TMPDIR=$temporary WINEPREFIX=$temporary/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree=;mshtml='
trap 'wineserver -k 2>/dev/null || true; wineserver -w 2>/dev/null || true; rm -rf "$temporary"' EXIT

# Wine's folders are made while Go compiles.
wineboot -i >"$temporary/wineboot" 2>&1 &
prefix=$!
# Wine 8 lacks the first way in which os.RemoveAll deletes a file, with an error that Go
# does not expect. A file that is added to the tests makes them take the second one, by a
# variable of Go's own tests.
overlay=
for package in "${packages[@]}"; do
	name=$(go list -f '{{.Name}}' "$package")
	printf '%s\n' "package $name" '' 'import _ "unsafe"' '' '//go:linkname deleteatFallback internal/syscall/windows.TestDeleteatFallback' \
		'var deleteatFallback bool' '' 'func init() { deleteatFallback = true }' >"$temporary/$name.go"
	overlay+="${overlay:+, }\"$PWD/$package/deleteat_wine_test.go\": \"$temporary/$name.go\""
done
echo "{\"Replace\": {$overlay}}" >"$temporary/overlay.json"
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -trimpath -overlay "$temporary/overlay.json" \
	-ldflags=-checklinkname=0 -o "$temporary/" "${packages[@]}"
wait "$prefix" || { cat "$temporary/wineboot" >&2; fail "Wine could not make its folders"; }

# Go asks bcryptprimitives.dll for random bytes. Wine 8 has the same function in advapi32.dll.
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [ ! -e "$library" ]; then
	# In the folder, since dlltool takes no path with a blank in it.
	(
		cd "$temporary"
		printf 'LIBRARY bcryptprimitives.dll\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n' >random.def
		x86_64-w64-mingw32-dlltool -d random.def -e random.o
		x86_64-w64-mingw32-ld -shared -o "$library" random.o
	)
fi

started=$SECONDS
skip="^($(IFS='|'; echo "${skipped[*]}"))\$"
# Wine now and then fails to start a process, and says "Internal error.", which Windows
# itself never answers there: the process ended while Wine loaded it. So may the tests
# themselves, without a word. The tests of a package in which that happened run again, three
# times at most; any other failure counts at once.
one() {
	local folder=$1 run=. out=$temporary/${1##*/} attempt
	[[ $folder != ./cmd/mcpc ]] || run=$in_cmd
	for attempt in 1 2 3; do
		if (cd "$folder" && wine "$out.test.exe" -test.short -test.timeout 5m -test.run "$run" -test.skip "$skip") >"$out" 2>&1; then
			if ! grep -q 'no tests to run' "$out"; then return 0; fi
			break
		fi
		if [ -s "$out" ] && ! grep -q 'fork/exec .*: Internal error\.' "$out"; then break; fi
		printf 'windows: %s, attempt %s: Wine failed to start a process\n' "$folder" "$attempt" >&2
	done
	cat "$out"
	printf 'windows: FAILED: %s\n' "$folder" >&2
	return 1
}
export -f one
export temporary skip in_cmd

printf '%s\n' "${packages[@]}" | xargs -P 2 -L 1 bash -c 'one "$@"' one || fail "tests fail"
echo "windows: ok ($((SECONDS - started)) s of tests)"
