"""Every Parquet and Arrow file of a store, read by other programs, has the rows that `espalier cat` prints.

usage: interop.py ESPALIER STORE
"""

import base64
import json
import math
import pathlib
import subprocess
import sys

import duckdb
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet


def plain(value):
    """The value as `espalier cat` writes it."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


def as_map(value):
    """A map comes as pairs or as structs of key and value, by program."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    pairs = [(v["key"], v["value"]) if isinstance(v, dict) else tuple(v) for v in value]
    return {str(k): plain(v) for k, v in pairs}


def rows_of(table, maps):
    out = []
    for row in table.to_pylist():
        out.append({k: as_map(v) if k in maps else plain(v) for k, v in row.items()})
    return out


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return a == b


def readers(path):
    """Yields the name of a program and the table that it reads."""
    if path.suffix == ".parquet":
        yield "pyarrow", pyarrow.parquet.read_table(path, partitioning=None)
        name = str(path).replace("'", "''")
        yield "duckdb", duckdb.sql(f"select * from read_parquet('{name}', hive_partitioning = false)").arrow()
        yield "polars", polars.read_parquet(path, hive_partitioning=False).to_arrow()
        return
    with pyarrow.OSFile(str(path)) as file:
        arrow = pyarrow.ipc.open_file(file).read_all()
    yield "pyarrow", arrow
    if not any(pyarrow.types.is_float16(t) for c in arrow.schema.types for t in inner(c)):
        yield "duckdb", duckdb.sql("select * from arrow").arrow()
    yield "polars", polars.read_ipc(path).to_arrow()


def inner(t):
    """The type and those it holds."""
    yield t
    for i in range(t.num_fields):
        yield from inner(t.field(i).type)


def as_table(t):
    return t.read_all() if isinstance(t, pyarrow.RecordBatchReader) else t


def main():
    espalier, store = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted(p for p in store.rglob("*") if p.suffix in (".parquet", ".arrow") and p.is_file() and "work" not in p.relative_to(store).parts)
    seen, compared, failed = set(), 0, 0
    for path in files:
        inode = path.stat().st_ino  # one file may have several names
        if inode in seen:
            continue
        seen.add(inode)
        printed = subprocess.run([espalier, "cat", path], check=True, capture_output=True, text=True).stdout
        want = [json.loads(line) for line in printed.splitlines()]
        maps = set()
        for name, table in readers(path):
            table = as_table(table)
            if name == "pyarrow":
                maps = {f.name for f in table.schema if pyarrow.types.is_map(f.type)}
            got = rows_of(table, maps)
            compared += 1
            if len(got) == len(want) and all(map(same, got, want)):
                continue
            failed += 1
            bad = next((i for i, (g, w) in enumerate(zip(got, want)) if not same(g, w)), min(len(got), len(want)))
            print(f"{path}: {name} reads {len(got)} rows, cat prints {len(want)}; they differ from row {bad} on")
            if bad < min(len(got), len(want)):
                print("  read   ", str(got[bad])[:500])
                print("  printed", str(want[bad])[:500])
    print(f"{len(seen)} files, {compared} comparisons (pyarrow {pyarrow.__version__}, duckdb {duckdb.__version__}, polars {polars.__version__}), {failed} failed")
    sys.exit(1 if failed or not compared else 0)


main()
