"""Runs "go test" and prints what it prints without -v, and what was skipped, with the reasons and a count.

    python gotest.py ./...
"""
import collections
import json
import subprocess
import sys


def main() -> int:
    command = ["go", "test", "-json", "-timeout", "20m", *sys.argv[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = collections.defaultdict(list)  # (package, test) -> lines
    ended = collections.Counter()
    skipped = []
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
            if action == "fail":
                print("".join(output[key]), end="")
            elif action == "skip":
                skipped.append((key, reason(output[key])))
            output.pop(key, None)
    code = process.wait()
    for lines in output.values():  # of tests that never ended
        print("".join(lines), end="")
    for (package, test), why in skipped:
        print(f"skipped: {package} {test}: {why}")
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
