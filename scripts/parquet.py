"""Reads what stream/parquet has written, with pyarrow and with DuckDB, and compares it with what was to be written.

    parquet.py DIR    a folder that TestReaders has filled
"""
import math
import pathlib
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

root = pathlib.Path(sys.argv[1])
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
COLUMNS = ["n", "user.city", "b", "x", "when", 'a text, "quoted"', "j"]


def same(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def path(name):
    return str(root / name)


def kinds():
    table = pq.read_table(path("kinds.parquet"))
    same("pyarrow: columns", table.column_names, COLUMNS)
    same("pyarrow: types", [str(f.type) for f in table.schema],
         ["int64", "string", "bool", "double", "timestamp[ns, tz=UTC]", "string", "extension<arrow.json>"])
    same("pyarrow: columns that may be null", [f.nullable for f in table.schema], [True] * 7)
    same("pyarrow: nanoseconds", table["when"].cast(pa.int64()).to_pylist(), [1772366400123456789, None, -1])
    rows = list(zip(*[c.to_pylist() for i, c in enumerate(table.columns) if i != 4]))
    same("pyarrow: rows", rows, [
        (2**63 - 1, "Lima", True, 0.1, "ñ\n", '{"k":[1]}'),
        (None,) * 6,
        (-1, "7", False, -math.inf, "a\ufffdb", '"t"'),
    ])
    got = db.execute(f"DESCRIBE SELECT * FROM '{path('kinds.parquet')}'").fetchall()
    same("DuckDB: columns", [r[0] for r in got], COLUMNS)
    print("DuckDB's types:", ", ".join(r[1] for r in got))
    got = db.execute(f"""SELECT n, "user.city", b, x, epoch_ns("when"), "a text, ""quoted""\", j->>'k[0]', j->>'$'
                         FROM '{path('kinds.parquet')}'""").fetchall()
    same("DuckDB: rows", got, [
        (2**63 - 1, "Lima", True, 0.1, 1772366400123456789, "ñ\n", None, '{"k":[1]}'),
        (None,) * 8,
        (-1, "7", False, -math.inf, -1, "a\ufffdb", None, "t"),
    ])
    same("DuckDB: an hour", db.execute(f"""SELECT count(*) FROM '{path('kinds.parquet')}'
         WHERE "when" >= TIMESTAMP '2026-03-01 12:00:00' AND "when" < TIMESTAMP '2026-03-01 13:00:00'""").fetchone(), (1,))


def micros():
    column = pq.read_table(path("micros.parquet"))["when"]
    same("pyarrow: microseconds", (str(column.type), column.cast(pa.int64()).to_pylist()), ("timestamp[us, tz=UTC]", [1772366400123456, None, -1]))
    got = db.execute(f"""SELECT epoch_us("when"), typeof("when") FROM '{path('micros.parquet')}'""").fetchall()
    same("DuckDB: microseconds", got, [(n, "TIMESTAMP WITH TIME ZONE") for n in (1772366400123456, None, -1)])


def none():
    same("pyarrow: no rows", (pq.read_table(path("none.parquet")).num_rows, len(pq.read_schema(path("none.parquet")))), (0, 7))
    same("DuckDB: no rows", db.execute(f"SELECT count(*) FROM '{path('none.parquet')}'").fetchone(), (0,))


def row(i):
    if i % 7 == 0:
        text = None
    else:
        text = "é" * (i % 100) if i % 3 == 0 else f"key {i % 1000}"
    return i, math.sqrt(i), text


def many():
    want = [row(i) for i in range(300_000)]
    file = pq.ParquetFile(path("many.parquet"))
    table = file.read()
    same("pyarrow: many rows", list(zip(*[c.to_pylist() for c in table.columns])) == want, True)
    same("DuckDB: many rows", db.execute(f"SELECT * FROM '{path('many.parquet')}' ORDER BY i").fetchall() == want, True)
    # Statistics that are wrong would make readers leave rows out.
    same("DuckDB: a row by its number", db.execute(f"SELECT * FROM '{path('many.parquet')}' WHERE i = 250001").fetchall(), [row(250_001)])
    got = pq.read_table(path("many.parquet"), filters=[("text", "=", "key 1")]).num_rows
    same("pyarrow: rows by a text", got, sum(r[2] == "key 1" for r in want))
    print(f"many.parquet: {file.metadata.num_row_groups} groups, {(root / 'many.parquet').stat().st_size} bytes")


def folder():
    want = sorted([row(i) for i in range(400)] * 9, key=lambda r: r[0])
    table = pq.read_table(path("folder")).sort_by("i")
    same("pyarrow: the folder", list(zip(*[c.to_pylist() for c in table.columns])) == want, True)
    got = db.execute(f"SELECT * FROM '{path('folder')}/*.parquet' ORDER BY i").fetchall()
    same("DuckDB: the folder", got == want, True)
    print("folder:", len(list((root / "folder").glob("*.parquet"))), "whole files")


for check in kinds, micros, none, many, folder:
    check()
print(f"pyarrow {pa.__version__} and DuckDB {duckdb.__version__} read all of it")
