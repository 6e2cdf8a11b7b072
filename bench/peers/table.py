"""Writes the tables of what peers.sh has measured, as Markdown: each engine and query, and the ratios to ours.

    table.py FOLDER minutes|nexmark|latency|checkpoint..."""
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys


MEDIAN = "cancha", "duckdb"  # they run often, in turns, and do not get faster; a JVM does


def objects(path: pathlib.Path) -> list[dict]:
    """Return the JSON objects of a file, one behind another; those of a list are objects of ours."""
    found, text, decoder = [], path.read_text() if path.exists() else "", json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found += [{"engine": "cancha"} | v for v in value] if isinstance(value, list) else [value]
        text = text[end:]
    return found


def chosen(results: list[dict]) -> dict:
    """Return a result by query and engine: of MEDIAN the medians of clock and processor, of a peer the fastest turn, beside it the first and the fastest, and if one has failed how."""
    runs, best = {}, {}
    for r in results:
        runs.setdefault(r["query"], {}).setdefault(r["engine"], []).append(r)
    for query, of in runs.items():
        for engine, all in of.items():
            failures = [r for r in all if "failed" in r or r.get("records", r.get("events", 0)) % r.get("events", 1) or r.get("late")]
            first, all = all[0], failures or sorted(all, key=lambda r: r["seconds"])
            middle = {k: statistics.median(r[k] for r in all) for k in ("seconds", "cpu_seconds")} if engine in MEDIAN and not failures else {}
            best.setdefault(query, {})[engine] = all[0] | middle | {"first": first.get("seconds"), "fastest": all[0]}
            if failures:
                best[query][engine].setdefault("failed", f"{all[0].get('records')} records read, {all[0].get('late')} late")
    return best


def runs(of: dict, engine: str) -> bool:
    return engine in of and "failed" not in of[engine]


def seconds(engine: str, r: dict) -> str:
    if engine in MEDIAN:
        return f"{r['seconds']:.2f} ({r['cpu_seconds']:.2f}); {r['fastest']['seconds']:.2f} ({r['fastest']['cpu_seconds']:.2f})"
    return f"{r['seconds']:.1f} ({r['cpu_seconds']:.1f}); {r['first']:.1f}"


def engines(title: str, results: list[dict]) -> list[str]:
    best = chosen(results)
    names = list(dict.fromkeys(r["engine"] for r in results))
    others = [n for n in names if n != "cancha"]
    lines = [f"## {title}", "", "Seconds of the clock (of the processor). Of ours and DuckDB's the median of the runs before, between and after the peers, and behind a "
             "semicolon the fastest; of a peer the fastest turn, and behind a semicolon the first in its JVM. Then how many times our median these are, and behind a second "
             "semicolon the peer's fastest by ours. DuckDB reads a file.", "",
             "| query | cancha | events/s | " + " | ".join(others) + " | " + " | ".join(f"{n} / cancha" for n in others) + " |", "| --- " * (3 + 2 * len(others)) + "|"]
    for query, of in best.items():
        ours = of["cancha"]
        top = ours["fastest"]
        cells = [query, seconds("cancha", ours), f"{ours['events'] / ours['seconds']:,.0f}"]
        cells += [seconds(n, of[n]) if runs(of, n) else "-" for n in others]
        cells += [f"{of[n]['seconds'] / ours['seconds']:.1f} ({of[n]['cpu_seconds'] / ours['cpu_seconds']:.1f}); {of[n]['first'] / ours['seconds']:.1f}; "
                  f"{of[n]['fastest']['seconds'] / top['seconds']:.1f} ({of[n]['fastest']['cpu_seconds'] / top['cpu_seconds']:.1f})" if runs(of, n) else "-" for n in others]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{n} cannot run {q}: {of[n]['failed']}" for q, of in best.items() for n in others if "failed" in of.get(n, {}))]
    return lines


def latency(results: list[dict]) -> list[str]:
    lines = ["## From the producer to a result", "", "Milliseconds from when an event was due to be sent, which waits a millisecond for others, until the row was given out. The first "
             "seconds, in which connections and memory are new, are told apart.", "",
             "| query | events/s | events | p50 | p90 | p99 | longest | p99 of the first seconds | longest of these | processors, producer and query |", "| --- " * 10 + "|"]
    for r in results:
        lines.append(f"| {r['query']} | {r['rate']:,.0f} | {r['back']:,} | {r['p50_ms']:.1f} | {r['p90_ms']:.1f} | {r['p99_ms']:.1f} | {r['max_ms']:.1f} | {r['first_p99_ms']:.1f} | {r['first_max_ms']:.1f} | "
                     f"{r['cpu_seconds'] / r['seconds']:.2f} |")
    return lines


def checkpoints(results: list[dict]) -> list[str]:
    """Return the table of what a checkpoint each second costs; a rate is that of the job, which has no start of a cluster in it."""
    lines = ["## A checkpoint each second", "", "Medians of the turns, each with one and without in a JVM that is warm. In brackets the ratios of turns that followed each other. Flink keeps its state in RocksDB in "
             "either, and writes what has changed since the checkpoint before, exactly once (barriers aligned); cancha keeps it in memory, and writes what has changed and a part of the rest. cancha waits until a "
             "checkpoint is on the disk (fsync), Flink does not. State: in memory; all that Flink's last checkpoint refers to. Pause: the longest for which all of cancha's query stood still; the longest "
             "synchronous part and alignment of a subtask of Flink's.", "",
             "| engine | turns | records/s without | with | with / without | processor seconds without | with | state, MB | checkpoints of a turn | MB of one, median | MB written in a turn | longest pause, ms | "
             "longest checkpoint, ms |", "| --- " * 13 + "|"]
    for engine in dict.fromkeys(r["engine"] for r in results):
        runs = {name: [r for r in results if r["engine"] == engine and r["query"] == name] for name in ("without", "with")}
        rates = {name: [r["events"] / r.get("job_seconds", r["seconds"]) for r in all] for name, all in runs.items()}
        without, kept = (statistics.median(rates[name]) for name in rates)
        pairs = [b / a for a, b in zip(rates["without"], rates["with"])]

        def middle(name: str, key: str) -> float:
            return statistics.median(r.get(key, 0) for r in runs[name])
        cells = [engine, len(pairs), f"{without:,.0f}", f"{kept:,.0f}", f"{kept / without:.0%} ({', '.join(f'{p:.0%}' for p in sorted(pairs))})", f"{middle('without', 'cpu_seconds'):.1f}",
                 f"{middle('with', 'cpu_seconds'):.1f}", f"{middle('with', 'state') / 1e6:.0f}", f"{middle('with', 'checkpoints'):.0f}", f"{middle('with', 'checkpoint_bytes') / 1e6:.1f}",
                 f"{middle('with', 'written_bytes') / 1e6:.0f}", max(r.get("pause_ms", 0) for r in runs["with"]), max(r.get("longest_ms", 0) for r in runs["with"])]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    failed = sum(r.get("failed_checkpoints", 0) for r in results)
    return lines + (["", f"{failed} of Flink's checkpoints failed: a task that is closing declines one."] if failed else [])


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = ["# Streams side by side", "", f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC; {platform.system()} {platform.machine()}, {processor()}, "
             f"{os.cpu_count()} cores; load average {'/'.join(f'{x:.1f}' for x in os.getloadavg())} at the end. Apache Kafka of one node, Flink 2.3 (parallelism 2), "
             "Spark 4.0 local[2], DuckDB 2.0 (2 threads, from a file in memory); cancha with GOMAXPROCS=2.", ""]
    if {"minutes", "nexmark"} & set(sys.argv[2:]):
        lines += ["They do not do all the same. Spark keeps checkpoints; cancha and Flink keep nothing here. cancha is told that a match lies in one partition, and "
             "closes its minutes there; the peers shuffle. Queries 4 and 7 are keyed processes and query 5 a top of each window in cancha, joins in the peers; q7join is query 7 with the join. Of query 12 "
             "Flink drops the last windows, and Spark leaves open what no later event closes.", ""]
    for name, title in ("minutes", "Statistics a minute"), ("nexmark", "Nexmark"):
        if name in sys.argv[2:] and (results := objects(folder / f"{name}.jsonl")):
            lines += [*engines(title, results), ""]
    if "latency" in sys.argv[2:] and (results := objects(folder / "latency.jsonl")):
        lines += [*latency(results), ""]
    if "checkpoint" in sys.argv[2:] and (results := objects(folder / "checkpoint.jsonl")):
        lines += [*checkpoints(results), ""]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
