#!/usr/bin/env bash
# Everything that is given to users, into dist/: archives for eight platforms,
# deb, rpm, npm packages, descriptions for Homebrew, Scoop, winget, the AUR, the MCP
# registry and development containers, a container file, bills of materials and
# checksums.
#
#   scripts/release.sh                         a snapshot of this commit
#   scripts/release.sh --version 1.2.3 --downloads URL --publisher NAME
#                                              a release; below URL/v1.2.3/ the
#                                              files will be found by the formula,
#                                              the manifests and the packages; NAME
#                                              is the account in the registries
#     --only linux/amd64,windows/arm64         fewer platforms
#     --out DIR                                in place of dist
#     --twice                                  build again elsewhere, from a copy,
#                                              and compare every hash
#
# The same commit gives the same bytes. Nothing is signed or uploaded here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# The time of the commit is the time of all that is made of it. Away from git a
# snapshot has neither.
if commit=$(git rev-parse HEAD); then
	[[ -z $(git status --porcelain -- cmd internal scripts docs go.mod flake.nix README.md) ]] || commit+=+
	MCPC_COMMIT=${MCPC_COMMIT:-$commit}
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
else
	MCPC_COMMIT=${MCPC_COMMIT:-unknown}
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
fi
export SOURCE_DATE_EPOCH MCPC_COMMIT
GOWORK=off exec go -C scripts/release run . --root "$root" "$@"
