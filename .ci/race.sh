#!/usr/bin/env bash
# The tests of what goroutines share, under Go's race detector, which needs a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v "${CC:-gcc}" >/dev/null; then
  echo "skipped: no C compiler (${CC:-gcc})"
  exit 0
fi
export CGO_ENABLED=1
go test -race -short ./pipeline/... ./jobs/... ./preprocess/spill ./tokenize ./tokenize/memo ./trainer/kernel/pool ./trainer/grad ./features
go test -race -run 'TestIngest.*Goldens' ./preprocess
