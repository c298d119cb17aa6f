#!/usr/bin/env bash
# Checks that this machine has every program that scripts/check.sh runs.
#
#   preflight.sh [--quick]           names everything that is missing, with its Debian
#                                    package; the exit status is 1 if anything is
#   preflight.sh install [--quick]   installs what Debian has first (needs root and apt-get)
#
# --quick leaves out what only the steps need that scripts/check.sh --quick does not run.
# No test is skipped because a program is missing: it fails.
set -euo pipefail

go_minimum=1.26
node_minimum=20 # the steps that need a newer Node install it from npm into .peers

# PROGRAM:DEBIAN PACKAGE
programs=(git:git)
full_programs=(curl:curl jq:jq zsh:zsh fish:fish ps:procps flock:util-linux zstd:zstd 'gcc:gcc libc6-dev'
	systemd-analyze:systemd ar:binutils chromium:chromium gnome-keyring-daemon:gnome-keyring
	dbus-run-session:dbus-daemon wine:wine x86_64-w64-mingw32-ld:binutils-mingw-w64-x86-64)

main() {
	local install='' quick=''
	while (($# > 0)); do
		case $1 in
		install) install=1 ;;
		--quick) quick=1 ;;
		*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
		esac
		shift
	done
	[[ -n $quick ]] || programs+=("${full_programs[@]}")
	if [[ -n $install ]]; then
		install_packages
	fi
	report "$quick"
}

# missing_programs prints the entries of programs that are not in the PATH.
missing_programs() {
	local entry
	for entry in "${programs[@]}"; do
		command -v "${entry%%:*}" >/dev/null || echo "$entry"
	done
}

install_packages() {
	local packages log
	packages=$(missing_programs | cut -d : -f 2 | sort -u)
	if [[ -z $packages ]] || ((EUID != 0)) || ! command -v apt-get >/dev/null; then
		return 0
	fi
	log=$(mktemp)
	# shellcheck disable=SC2086
	if ! { apt-get -o Acquire::Retries=3 update -q &&
		DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 install -qy --no-install-recommends $packages; } >"$log" 2>&1; then
		cat "$log" >&2
	fi
	rm -f "$log"
}

# report names everything that is missing; nothing is left for a second run to find.
report() {
	local missing=() packages=() entry node
	at_least "$go_minimum" "$(go env GOVERSION 2>/dev/null | sed 's/^go//')" || missing+=("Go $go_minimum or newer")
	if [[ -z $1 ]]; then
		node=$(node --version 2>/dev/null | sed 's/^v//') || true
		at_least "$node_minimum" "$node" || missing+=("Node $node_minimum or newer")
		command -v npm >/dev/null || missing+=("npm")
	fi
	while IFS= read -r entry; do
		missing+=("${entry%%:*}")
		packages+=("${entry##*:}")
	done < <(missing_programs)
	if ((${#missing[@]} == 0)); then
		return 0
	fi
	printf 'preflight: missing: %s\n' "${missing[@]}" >&2
	if ((${#packages[@]} > 0)); then
		echo "preflight: Debian has some of it: apt-get install ${packages[*]}" >&2
	fi
	return 1
}

# at_least reports whether a version, as 22.19.0, is a minimum, as 22.19, or newer.
at_least() {
	[[ -n $2 && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

main "$@"
