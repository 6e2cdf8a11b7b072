"""Compares the statistics a minute, or the sums by key, that a peer has computed with ours, row by row: the counts exactly, the other numbers to 1e-9.

    same.py OURS.csv PEER FILE...          files of CSV, or folders of them, without a header

A row that the peer lacks must be of the last windows, which Spark leaves open: all of its event time are above every row that the peer has. So no key may lack."""
import csv
import datetime
import math
import pathlib
import sys


def minute(text: str) -> int:
    at = datetime.datetime.fromisoformat(text.strip())
    return int(at.replace(tzinfo=at.tzinfo or datetime.timezone.utc).timestamp())


# columns of ours, in the order of the peers': what a row is of, and its numbers; the window's end is no column of theirs
MINUTES = ("match_id", "team_id", "window_start"), ("n", "x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3")
SUMS = ("key",), ("n", "sum", "least", "greatest", "mean")


def key(*fields) -> tuple:
    return tuple(minute(f) if ":" in f else int(f) for f in fields)


def ours(path: str) -> tuple[dict, int]:
    """Return the rows of our CSV by what they are of, and how many columns that is."""
    with open(path, newline="") as file:
        lines = csv.reader(file)
        names = next(lines)
        of, numbers = SUMS if "key" in names else MINUTES
        at, values = [names.index(n) for n in of], [names.index(n) for n in numbers]
        return {key(*(line[i] for i in at)): [float(line[i]) for i in values] for line in lines}, len(of)


def theirs(paths: list[str], keys: int) -> dict:
    rows = {}
    for path in map(pathlib.Path, paths):
        files = [f for f in path.rglob("*") if f.is_file() and not any(part.startswith((".", "_")) for part in f.relative_to(path).parts)] if path.is_dir() else [path]
        for file in files:
            with open(file, newline="") as text:
                rows |= {key(*line[:keys]): [float(x) for x in line[keys:]] for line in csv.reader(text) if line}
    return rows


def main():
    want, keys = ours(sys.argv[1])
    name, got = sys.argv[2], theirs(sys.argv[3:], keys)
    if not got:
        sys.exit(f"same.py: {name} has no rows in {sys.argv[3:]}")
    other = [k for k, row in got.items() if k not in want or row[0] != want[k][0] or
             not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(row, want[k], strict=True))]
    newest = max(k[-1] for k in got) if keys > 1 else math.inf
    missing = [k for k in want if k not in got]
    early = [k for k in missing if k[-1] <= newest]
    print(f"{name}: {len(got) - len(other)} of {len(want)} rows are ours; {len(missing)} of the last windows are missing", file=sys.stderr)
    if other or early:
        sys.exit(f"same.py: {name}: {len(other)} rows differ, the first {other[:1]}; {len(early)} are missing, the first {early[:1]}")


if __name__ == "__main__":
    main()
