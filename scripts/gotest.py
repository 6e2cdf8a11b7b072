"""Runs "go test" and prints what it prints without -v, and what was skipped, with the reasons and a count. CANCHA_SLOWEST names a file for the
slowest 50 tests.

    python gotest.py ./...
"""
import collections
import json
import os
import pathlib
import subprocess
import sys


# Why tests are skipped of which no line is needed: with -short, and where cells are compiled.
LONG, ONCE = "takes seconds", "the same with cells compiled"


def main() -> int:
    command = ["go", "test", "-json", "-timeout", "20m", *sys.argv[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = collections.defaultdict(list)  # (package, test) -> lines
    ended = collections.Counter()
    skipped, took = [], []
    for line in process.stdout:
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            print(line, end="")
            continue
        key = event.get("Package", event.get("ImportPath", "")), event.get("Test")
        action = event["Action"]
        if action in ("output", "build-output"):
            if key[1] is None:
                show(event["Output"])
            else:
                output[key].append(event["Output"])
        elif action in ("pass", "fail", "skip") and key[1] is not None:
            ended[action] += 1
            if "/" not in key[1]:
                took.append((event.get("Elapsed", 0.0), *key))
            if action == "fail":
                print("".join(output[key]), end="")
            elif action == "skip":
                skipped.append((key, reason(output[key])))
            output.pop(key, None)
    code = process.wait()
    for lines in output.values():  # of tests that never ended
        print("".join(lines), end="")
    long = sum(why.endswith(LONG) for _, why in skipped)
    for (package, test), why in skipped:
        if not why.endswith((LONG, ONCE)):
            print(f"skipped: {package} {test}: {why}")
    if long:
        print(f"skipped: {long} that take seconds; \"make test-all\" runs them")
    if table := os.environ.get("CANCHA_SLOWEST"):
        slowest = [f"{seconds:7.1f} s  {package} {test}\n" for seconds, package, test in sorted(took, reverse=True)[:50]]
        pathlib.Path(table).write_text("".join(slowest))
    print(f"{sum(ended.values())} Go tests: {ended['pass']} passed, {ended['fail']} failed, {ended['skip']} skipped", flush=True)
    return code


def show(line: str) -> None:
    """Print a package's own line, without what -json adds to plain output."""
    if line not in ("PASS\n",) and "[no test files]" not in line:
        print(line, end="", flush=True)


def reason(lines: list[str]) -> str:
    """Return what t.Skip said: the last line that is no frame of the test."""
    said = [text.strip() for text in lines if not text.lstrip().startswith(("===", "---"))]
    return said[-1] if said else "no reason given"


if __name__ == "__main__":
    sys.exit(main())
