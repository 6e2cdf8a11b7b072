"""Compares what a notebook gave here with what it gave on Spark.

    python spark_rows.py rows HERE.csv SPARK.csv --keys A,B [--order C] [--estimate D]
    python spark_rows.py cells HERE.ipynb SPARK.ipynb ID... [--width N]

rows: the same rows by their keys, each as often, integers and texts exactly, other numbers to 1e-9 of themselves, or of one. With --order rows
may be only here, if they lie behind all of Spark's by that column: the watermark has not passed them. With --estimate the numbers of that column, a
quantile, are equal to 0.5 %, as stream.Quantile is here; Spark's is exact. cells: the cells of these ids show the same text; with --width as far
as the first N characters of each line go.
Exit 1 on any difference.
"""
import argparse
import csv
import json
import math
import sys
from collections import Counter

TOLERANCE = 1e-9
ESTIMATE = 0.005
SHOWN = 10  # differences


def number(text: str) -> float | None:
    """Return the number that a cell is, None for an integer or no number: these are compared as they are written."""
    if text.lstrip("-").isdigit():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def equal(here: str, spark: str, tolerance: float) -> bool:
    """Report whether two cells hold the same."""
    a, b = number(here), number(spark)
    if here == spark:
        return True
    if a is None and b is None:
        return False
    try:
        a, b = float(here), float(spark)
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=TOLERANCE)


def table(path: str, keys: list[str]) -> tuple[list[str], dict[tuple, dict], Counter]:
    """Return the columns of a file, its rows by their keys, and how many have each key."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    if missing := [k for k in keys if k not in (reader.fieldnames or [])]:
        sys.exit(f"{path} has no column {', '.join(missing)}")
    by = [tuple(row[k] for k in keys) for row in rows]
    return reader.fieldnames, dict(zip(by, rows)), Counter(by)


def rows(options) -> list[str]:
    """Return how the rows of two files differ."""
    keys = options.keys.split(",")
    columns, here, times = table(options.here, keys)
    others, spark, there = table(options.spark, keys)
    if columns != others:
        return [f"columns {columns} here, {others} on Spark"]
    if not spark:
        return ["no rows on Spark: nothing was compared"]
    faults = [f"only on Spark: {key}" for key in spark if key not in here]
    last = max(row[options.order] for row in spark.values()) if options.order else None
    missing = [row for key, row in here.items() if key not in spark]
    faults += [f"only here: {row}" for row in missing if last is None or row[options.order] <= last]
    faults += [f"{key}: {times[key]} rows here, {there[key]} on Spark" for key in here.keys() & spark.keys() if times[key] != there[key]]
    for key in here.keys() & spark.keys():
        for c in columns:
            a, b = here[key][c], spark[key][c]
            if not equal(a, b, ESTIMATE if c == options.estimate else TOLERANCE):
                faults.append(f"{key} {c}: {a!r} here, {b!r} on Spark")
    print(f"{'FAIL' if faults else 'ok'}   {options.here}: {len(spark)} rows on Spark, {len(here)} here, {len(missing)} of them not passed by the watermark there")
    return faults


def shown(path: str, cell_id: str, width: int | None) -> str:
    """Return the value that a cell shows as text, or else what it prints: it may also tell how far a build has come."""
    with open(path, encoding="utf-8") as file:
        cells = [c for c in json.load(file)["cells"] if c.get("id") == cell_id]
    if not cells:
        sys.exit(f"{path} has no cell {cell_id}")
    outputs = cells[0]["outputs"]
    values = [output["data"].get("text/plain", "") for output in outputs if output["output_type"] == "execute_result"]
    printed = [output["text"] for output in outputs if output["output_type"] == "stream"]
    lines = "".join("".join(text) for text in values or printed).splitlines()
    return "\n".join(line[:width] for line in lines)


def cells(options) -> list[str]:
    """Return which cells show something else, or nothing."""
    faults = []
    for cell_id in options.ids:
        here, spark = shown(options.here, cell_id, options.width), shown(options.spark, cell_id, options.width)
        if not here or here != spark:
            faults.append(f"cell {cell_id}: here\n{here}\non Spark\n{spark}")
    print(f"{'FAIL' if faults else 'ok'}   {options.here}: cells {', '.join(options.ids)}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(required=True)
    for compare in (rows, cells):
        kind = kinds.add_parser(compare.__name__)
        kind.set_defaults(compare=compare)
        kind.add_argument("here")
        kind.add_argument("spark")
        if compare is rows:
            kind.add_argument("--keys", required=True)
            kind.add_argument("--order")
            kind.add_argument("--estimate")
        else:
            kind.add_argument("ids", nargs="+")
            kind.add_argument("--width", type=int)
    options = parser.parse_args()
    faults = options.compare(options)
    for fault in faults[:SHOWN]:
        print("    " + fault)
    if len(faults) > SHOWN:
        print(f"    and {len(faults) - SHOWN} more")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
