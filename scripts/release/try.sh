#!/usr/bin/env bash
# Tries what release.sh made for linux/amd64, as its users get it: the archive, the
# deb, the npm packages, the AUR package and the development container's feature,
# without a network.
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
# The MCP registry takes a server only if the npm package names it.
server=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).name' "$dist/server.json")

mkdir "$dir/archive" "$dir/deb" "$dir/npm" "$dir/aur"
tar xzf "$dist"/mcpc_*_linux_amd64.tar.gz -C "$dir/archive"
try "the archive" "$dir"/archive/*/mcpc
if ldd "$dir"/archive/*/mcpc >/dev/null 2>&1; then die "the program is not static"; fi

# A deb is an archive of ar, in which data.tar.gz has the files.
(cd "$dir/deb" && ar x "$dist"/mcpc_*_amd64.deb && tar xzf data.tar.gz)
try "the deb" "$dir/deb/usr/bin/mcpc"
try "the deb's second name" "$dir/deb/usr/bin/mcpcli"

npm install --offline --no-audit --no-fund --loglevel=error --prefix "$dir/npm" "$dist"/npm/mcpc-linux-x64-*.tgz "$dist"/npm/mcpc-[0-9]*.tgz >/dev/null
try "the npm package" npx --offline --prefix "$dir/npm" mcpc
try "the npm package's second name" npx --offline --prefix "$dir/npm" mcpcli
[[ $(node -p 'require(process.argv[1]).mcpName' "$dir/npm/node_modules/mcpc/package.json") == "$server" ]] ||
	die "the npm package is not that of $server"

# makepkg unpacks the archive and calls package in the folder.
(
	cd "$dir/aur"
	tar xzf "$dist"/mcpc_*_linux_amd64.tar.gz
	pkgdir=$dir/aur/pkg
	# shellcheck source=/dev/null
	source "$dist/aur/PKGBUILD"
	package
	# shellcheck disable=SC2154
	[[ $(sha256sum <"$dist"/mcpc_*_linux_amd64.tar.gz) == "${sha256sums_x86_64[0]} "* ]]
	[[ ${source_x86_64[0]} == */$(basename "$dist"/mcpc_*_linux_amd64.tar.gz) ]]
)
try "the AUR package" "$dir/aur/pkg/usr/bin/mcpc"

DOWNLOADS=file://$dist PREFIX=$dir/feature sh "$dist/devcontainer/install.sh"
try "the development container's feature" "$dir/feature/bin/mcpc"
echo x >"$dir/other.tar.gz"
mkdir "$dir/mirror"
cp "$dir/other.tar.gz" "$dir/mirror/$(basename "$dist"/mcpc_*_linux_amd64.tar.gz)"
if DOWNLOADS=file://$dir/mirror PREFIX=$dir/other sh "$dist/devcontainer/install.sh" 2>/dev/null; then die "the feature installs any archive"; fi
