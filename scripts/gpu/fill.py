"""Puts what a visit to a GPU has measured where it is shown: bench/results, which notebook 05 reads, and the guide's table of the forest and the stream.

    fill.py OUT/visit.json

A rehearsal fills nothing. What a visit has not measured stays as it is, and is named.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "docs" / "GUIDE.md"


def result(kind: str, found: dict, date: str) -> None:
    """Keep a result beside those of earlier visits; none replaces another machine's or another day's."""
    device = re.sub(r"[^a-z0-9]+", "-", (found.get("gpu") or {}).get("device", found.get("device", "none")).lower()).strip("-")
    path = ROOT / "bench" / "results" / f"{kind}-{device}-{date}.json"
    path.write_text(json.dumps(found, indent=2) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")


def rows(sides: dict) -> dict[str, list[str]]:
    """Return the guide's rows by how they begin: what the CPU took, and the GPU of that very machine."""
    both = [sides.get("cpu"), sides.get("gpu")]

    def row(form):
        return [form(side) if side else "—" for side in both]

    def median(side, which):
        return side["latency"][which]["p50Ms"]

    return {
        "growing a forest of 100 trees": row(lambda s: f"{1000 * s['trainingSeconds']:.0f} ms"),
        "its answers for all rows in one batch": row(lambda s: f"{1000 * round(s['rowsPerSecond'] / 1000):,} rows/s"),
        "latency of a batch of the stream": row(lambda s: f"{median(s, 'withoutModel'):.1f} ms, {median(s, 'withModel'):.1f} ms"),
        "process rate of the stream": row(lambda s: f"{1000 * round(s['processRate'] / 1000):,} records/s"),
    }


def fill(text: str, found: dict, visit: dict) -> str:
    """Return the guide with the figures of a visit's notebook 05."""
    for start, cells in rows(found["sides"]).items():
        text, n = re.subn(rf"(?m)^(\| {re.escape(start)}[^|]*)\|[^|]*\|[^|]*\|$", lambda m: f"{m[1]}| {cells[0]} | {cells[1]} |", text)
        assert n == 1, f"the guide has {n} rows that begin with {start!r}"
    machine = f"these are {found['cores']} cores\nof an {found['processor']} and its {visit['machine'] or 'GPU'}, {visit['date']}:"
    text, n = re.subn(r"these are \d+ cores\nof an? [^:]*:(?=\n\n\| \| CPU \| GPU \|)", lambda _: machine, text)
    assert n == 1, "the guide does not say whose figures these are"
    return text


def main() -> int:
    visit = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for step in visit["steps"]:
        if step["rc"]:
            print(f"{step['step']} ended with {step['rc']} after {step['seconds']} s")
    if visit["rehearsal"]:
        print("it was a rehearsal: nothing is filled in")
        return 0
    for kind, name in (("gpu", "bench"), ("reference", "reference"), ("copies", "copies")):
        if visit[name]:
            result(kind, visit[name], visit["date"])
        else:
            print(f"{name} was not measured")
    if visit["05"] and "gpu" in visit["05"]["sides"]:
        GUIDE.write_text(fill(GUIDE.read_text(), visit["05"], visit))
        print("filled in docs/GUIDE.md; run notebook 05 for its own outputs")
    else:
        print("notebook 05 has no figures of a GPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
