#!/usr/bin/env bash
# Opens every Parquet and Arrow file of a store with pyarrow, DuckDB and polars and compares the rows with those
# that `espalier cat` prints. Their environment is made once, in the user's cache folder.
# usage: interop.sh ESPALIER STORE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
espalier=$1 store=$2

python=$(command -v python3 || true)
if [ -z "$python" ]; then
  echo 'skipped: no python3 here'
  exit 0
fi
packages='pyarrow==26.0.1 duckdb==2.0.0 polars==2.1.0'
env="${XDG_CACHE_HOME:-$HOME/.cache}/espalier-ci/$(printf '%s %s' "$("$python" -V)" "$packages" | cksum | cut -d' ' -f1)"
if ! "$env/bin/python" -c 'import pyarrow, duckdb, polars' 2>/dev/null; then
  rm -rf "$env"
  mkdir -p "$(dirname "$env")"
  # shellcheck disable=SC2086
  if ! { "$python" -m venv "$env" && "$env/bin/pip" install -q --disable-pip-version-check $packages; }; then
    rm -rf "$env"
    echo 'skipped: no environment with pyarrow, duckdb and polars could be made (is the Python index reachable?)'
    exit 0
  fi
fi
"$env/bin/python" "$here/interop.py" "$espalier" "$store"
