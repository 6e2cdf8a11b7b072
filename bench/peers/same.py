"""Compares the statistics a minute that a peer has computed with ours, row by row: the counts exactly, the other numbers to 1e-9.

    same.py OURS.csv PEER FILE...          files of CSV, or folders of them, without a header

A row that the peer lacks must be of the last windows, which Spark leaves open: all of its event time are above every row that the peer has."""
import csv
import datetime
import math
import pathlib
import sys


def minute(text: str) -> int:
    at = datetime.datetime.fromisoformat(text.strip())
    return int(at.replace(tzinfo=at.tzinfo or datetime.timezone.utc).timestamp())


def key(match, team, start):
    return int(match), int(team), minute(start)


def ours(path: str) -> dict:
    """Return the rows of our CSV by match, team and minute: the window's end is no column of the peers'."""
    with open(path, newline="") as file:
        lines = csv.reader(file)
        names = next(lines)
        at = [names.index(n) for n in ("match_id", "team_id", "window_start", "n", "x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3")]
        return {key(*(line[i] for i in at[:3])): [float(line[i]) for i in at[3:]] for line in lines}


def theirs(paths: list[str]) -> dict:
    rows = {}
    for path in map(pathlib.Path, paths):
        files = [f for f in path.rglob("*") if f.is_file() and not any(part.startswith((".", "_")) for part in f.relative_to(path).parts)] if path.is_dir() else [path]
        for file in files:
            with open(file, newline="") as text:
                rows |= {key(*line[:3]): [float(x) for x in line[3:]] for line in csv.reader(text) if line}
    return rows


def main():
    want, name, got = ours(sys.argv[1]), sys.argv[2], theirs(sys.argv[3:])
    if not got:
        sys.exit(f"same.py: {name} has no rows in {sys.argv[3:]}")
    other = [k for k, row in got.items() if k not in want or row[0] != want[k][0] or
             not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(row, want[k], strict=True))]
    newest = max(k[2] for k in got)
    missing = [k for k in want if k not in got]
    early = [k for k in missing if k[2] <= newest]
    print(f"{name}: {len(got) - len(other)} of {len(want)} rows are ours; {len(missing)} of the last windows are missing", file=sys.stderr)
    if other or early:
        sys.exit(f"same.py: {name}: {len(other)} rows differ, the first {other[:1]}; {len(early)} are missing, the first {early[:1]}")


if __name__ == "__main__":
    main()
