#!/usr/bin/env bash
# Counts what a reader of internal/ has to carry, see scripts/size/main.go. The bar prints it; it fails nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./scripts/size "$@"
