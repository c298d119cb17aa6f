#!/bin/sh
# Installs mcpc {{.Version}} into a development container. DOWNLOADS is the option "downloads".
set -eu
downloads=${DOWNLOADS:-{{.Downloads}}}
prefix=${PREFIX:-/usr/local}
case $(uname -m) in
x86_64 | amd64)
	name={{(file "linux" "amd64").Stem}}
	sum={{(file "linux" "amd64").Sum}}
	;;
aarch64 | arm64)
	name={{(file "linux" "arm64").Stem}}
	sum={{(file "linux" "arm64").Sum}}
	;;
*)
	echo "mcpc: there is no archive for $(uname -m)" >&2
	exit 1
	;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if command -v curl >/dev/null; then
	curl -fsSL -o "$dir/mcpc.tar.gz" "$downloads/$name.tar.gz"
elif command -v wget >/dev/null; then
	wget -q -O "$dir/mcpc.tar.gz" "$downloads/$name.tar.gz"
else
	echo "mcpc: the container needs curl or wget" >&2
	exit 1
fi
echo "$sum  $dir/mcpc.tar.gz" | sha256sum -c - >/dev/null || {
	echo "mcpc: $downloads/$name.tar.gz is not the archive of this version: its SHA-256 is not $sum" >&2
	exit 1
}
tar xzf "$dir/mcpc.tar.gz" -C "$dir"
mkdir -p "$prefix/bin" "$prefix/share"
cp "$dir/$name/mcpc" "$prefix/bin/mcpc"
ln -sf mcpc "$prefix/bin/mcpcli"
cp -r "$dir/$name/man" "$prefix/share/"
