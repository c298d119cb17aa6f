#!/usr/bin/env bash
# Tries what release.sh made for linux/amd64, as its users get it: the archive, the
# deb and the npm packages, without a network.
#
#   try.sh DIST
set -euo pipefail
dist=$(cd "${1:?which folder?}" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export MCPC_STATE=$dir/state

die() { echo "try.sh: $1" >&2; exit 1; }

# try NAME COMMAND... runs a mcpc: its version, an answer and an exit code.
try() {
	local name=$1 status=0
	shift
	"$@" version | grep -q '^mcpc [0-9]*\.[0-9]*\.[0-9]*[^ ]*, commit [0-9a-f]*' || die "$name: what is it? $("$@" version)"
	[[ $("$@" -s demo call echo '{"message":"hi"}') == "Echo: hi" ]] || die "$name does not answer"
	"$@" -s demo call fail '{"message":"no"}' >/dev/null 2>&1 || status=$?
	((status == 5)) || die "$name: exit code $status where 5 belongs"
	echo "try.sh: $name runs"
}

(cd "$dist" && sha256sum --quiet --check checksums.txt)
node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$dist/mcpc.scoop.json"

mkdir "$dir/archive" "$dir/deb" "$dir/npm"
tar xzf "$dist"/mcpc_*_linux_amd64.tar.gz -C "$dir/archive"
try "the archive" "$dir"/archive/*/mcpc
if ldd "$dir"/archive/*/mcpc >/dev/null 2>&1; then die "the program is not static"; fi

# A deb is an archive of ar, in which data.tar.gz has the files.
(cd "$dir/deb" && ar x "$dist"/mcpc_*_amd64.deb && tar xzf data.tar.gz)
try "the deb" "$dir/deb/usr/bin/mcpc"

npm install --offline --no-audit --no-fund --loglevel=error --prefix "$dir/npm" "$dist"/npm/mcpc-linux-x64-*.tgz "$dist"/npm/mcpc-[0-9]*.tgz >/dev/null
try "the npm package" npx --offline --prefix "$dir/npm" mcpc
