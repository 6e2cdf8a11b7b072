"""Prints a short table of what notebooks have written: the numbers of their JSON files, the rows of their CSV files.

    python results.py FOLDER        # FOLDER/NOTEBOOK/*.json, *.csv

It needs nothing but Python. A notebook that has written nothing is an error.
"""
import csv
import json
import pathlib
import sys


def numbers(value, name=""):
    """Yield name and value of each number and text in nested objects; lists are left out, they are for figures."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, (int, float, str)) and not isinstance(value, bool):
        yield name, value


def show(value) -> str:
    """Write a number with four digits, a whole one with all."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    if isinstance(value, (int, float)):
        return f"{int(value):,}"
    return value


def lines(folder: pathlib.Path):
    """Yield what a notebook's folder holds, as pairs of text."""
    for path in sorted(folder.glob("*.json")):
        for name, value in numbers(json.loads(path.read_text())):
            yield name, show(value)
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            yield path.name, f"{sum(1 for _ in csv.reader(file)) - 1:,} rows"


def main() -> int:
    folders = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    empty = 0 if folders else 1
    for folder in folders:
        table = list(lines(folder))
        empty += not table
        print(f"\n{folder.name}")
        width = max((len(name) for name, _ in table), default=0)
        for name, value in table:
            print(f"  {name:<{width}}  {value}")
        if not table:
            print("  nothing was written")
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
