"""Writes the tables of what peers.sh has measured, as Markdown: the fastest turn of each engine and query, and the ratios to ours.

    table.py FOLDER"""
import datetime
import json
import os
import pathlib
import platform
import sys


def objects(path: pathlib.Path) -> list[dict]:
    """Return the JSON objects of a file, one behind another; those of a list are objects of ours."""
    found, text, decoder = [], path.read_text() if path.exists() else "", json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found += [{"engine": "cancha"} | v for v in value] if isinstance(value, list) else [value]
        text = text[end:]
    return found


def fastest(results: list[dict]) -> dict:
    """Return the fastest result by query and engine; how a query failed where it has none."""
    best = {}
    for r in results:
        of = best.setdefault(r["query"], {})
        old = of.get(r["engine"])
        if old is None or "failed" in old or r.get("seconds", float("inf")) < old["seconds"]:
            of[r["engine"]] = r
    return best


def engines(title: str, results: list[dict]) -> list[str]:
    best = fastest(results)
    names = list(dict.fromkeys(r["engine"] for r in results))
    others = [n for n in names if n != "cancha"]
    lines = [f"## {title}", "", "Seconds of the clock (of the processor), events a second of ours, and how many times ours a peer takes, by the clock (by the processor).", "",
             "| query | cancha | events/s | " + " | ".join(others) + " | " + " | ".join(f"{n} / cancha" for n in others) + " |", "| --- " * (3 + 2 * len(others)) + "|"]
    for query, of in best.items():
        ours = of["cancha"]
        cells = [query, f"{ours['seconds']:.2f} ({ours['cpu_seconds']:.2f})", f"{ours['events'] / ours['seconds']:,.0f}"]
        cells += [f"{of[n]['seconds']:.1f} ({of[n]['cpu_seconds']:.1f})" if "seconds" in of.get(n, {}) else "-" for n in others]
        cells += [f"{of[n]['seconds'] / ours['seconds']:.1f} ({of[n]['cpu_seconds'] / ours['cpu_seconds']:.1f})" if "seconds" in of.get(n, {}) else "-" for n in others]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{n} cannot run {q}: {of[n]['failed']}" for q, of in best.items() for n in others if "failed" in of.get(n, {}))]
    return lines


def latency(results: list[dict]) -> list[str]:
    lines = ["## From the producer to a result", "", "Milliseconds from Send, which waits a millisecond for others, until the row was given out.", "",
             "| query | events/s | events | p50 | p90 | p99 | longest | processors, producer and query |", "| --- " * 8 + "|"]
    for r in results:
        lines.append(f"| {r['query']} | {r['rate']:,.0f} | {r['back']:,} | {r['p50_ms']:.1f} | {r['p90_ms']:.1f} | {r['p99_ms']:.1f} | {r['max_ms']:.1f} | {r['cpu_seconds'] / r['seconds']:.2f} |")
    return lines


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = ["# Streams side by side", "", f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC; {platform.system()} {platform.machine()}, {processor()}, "
             f"{os.cpu_count()} cores; load average {'/'.join(f'{x:.1f}' for x in os.getloadavg())} at the end. Apache Kafka of one node, Flink 2.3 (parallelism 2, warm), "
             "Spark 4.0 local[2] (warm), DuckDB 2.0 (2 threads, from a file in memory).", ""]
    for name, title in ("minutes", "Statistics a minute"), ("nexmark", "Nexmark"):
        if results := objects(folder / f"{name}.jsonl"):
            lines += [*engines(title, results), ""]
    if results := objects(folder / "latency.jsonl"):
        lines += [*latency(results), ""]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
