#!/usr/bin/env bash
# The whole bar, the same on a laptop and in CI.
#
#   scripts/check.sh           everything: format, vet, lint, race tests, every
#                              call failing once, fuzz seconds, the real servers,
#                              a release of two platforms
#   scripts/check.sh --quick   the inner loop, under two minutes
#
# FUZZTIME=5m makes each fuzz target run for minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=
case "${1:-}" in
--quick) quick=1 ;;
"") ;;
*) echo "usage: scripts/check.sh [--quick]" >&2; exit 2 ;;
esac

started=$SECONDS
step() { printf '== %s\n' "$1"; }
fail() { printf 'check: FAILED: %s\n' "$1" >&2; exit 1; }
trap 'fail "$what"' ERR

what="format"
step "$what"
unformatted=$(gofmt -l cmd internal scripts)
[ -z "$unformatted" ] || fail "gofmt would change: $unformatted"

what="vet"
step "$what"
go vet ./... && go vet -tags peers,torture ./cmd/mcpc
# Compiled as a release is, so that the release below need not do it again.
vet_for() { GOOS=$1 go vet -trimpath ./cmd/... ./internal/...; }
vet_for windows && vet_for darwin
[ -n "$quick" ] || vet_for freebsd

if [ -n "$quick" ]; then
	# Without what takes most of the time and seldom breaks alone.
	long='TestEveryExampleRuns|TestExportedCommandsSendTheSame|TestHostileCaptures$|TestConfigurationsAreOnlyRead'
	long+='|TestNoSecretOfALoginIsKeptOrShown|TestNoHeldServerIsLeft|TestScripts/^(login_ci|exit_09_timeout|keep)$'
	what="tests"
	step "$what"
	go test -short -skip "$long" -parallel 8 ./...
	echo "check: ok, quick ($((SECONDS - started)) s)"
	exit 0
fi

what="modules"
step "$what"
go mod tidy -diff && go mod verify

what="staticcheck"
step "$what"
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

what="race tests"
step "$what"
go test -race -timeout 40m -parallel 6 ./...

# Each fallible call fails once; it is there for Linux on amd64.
what="torture"
step "$what"
go test -tags torture -timeout 20m -count=1 -parallel 12 -run 'Torture' ./cmd/mcpc

what="fuzz seconds"
step "$what"
scripts/fuzz.sh "${FUZZTIME:-2s}"

what="real servers"
step "$what"
scripts/peers.sh install
go test -tags peers -timeout 40m -count=1 -parallel 4 -run 'Peer' -v ./cmd/mcpc | grep -v '^=== ' 

what="conformance"
step "$what"
scripts/conformance.sh

# Two of the eight platforms, built twice; scripts/release.sh alone makes all.
what="release"
step "$what"
GOWORK=off go -C scripts/release vet .
scripts/release.sh --only linux/amd64,windows/amd64 --twice
scripts/release/try.sh dist

echo "check: ok ($((SECONDS - started)) s)"
