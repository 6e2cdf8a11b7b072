"""Measures kernels side by side through jupyter_client: starts, small cells, completion, much output, interrupts.

    python bench/kernel/measure.py [--starts 5] [--kernel cancha --kernel cancha+curve --kernel python3 --kernel deno] [--out FILE.md]

The kernels take turns, so that what else the machine does meets all of them. Each number is the median over the starts; what
is repeated within a start enters as that start's median, or as its slowest where the row says so. The client looks for a
starting kernel every 5 ms instead of every 100, so that its own waiting is not measured. A start counts from before the
client looks the kernelspec up. Times are to the reply on shell, except those of the lines and of the display, which are to the
idle message on iopub after all has arrived. Every reply is checked: a kernel that answers wrongly has no number, and what has failed
once for another kernel than the first is not tried again. "cancha+curve" is cancha with its channels encrypted.

The first kernel, if it compiles cells, is then measured once at that: compiled.py.

It needs the kernelspecs ("make bench-kernel" has them; deno is the binary of PyPI's package of that name, whose kernelspec is written
here), ends with 1 if a number of the first kernel is missing, and does not judge by the targets, which hold on a machine with nothing
else to do: the load average is written beside them.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import compiled
import ipykernel
import jupyter_client
import zmq

CELLS = 200
COMPLETIONS = 50
INTERRUPTS = 5
LINES = 100_000
DISPLAY = 20 << 20  # bytes
PATIENCE = 60  # seconds for any one reply
CURVE = "+curve"  # behind a kernel's name: with its channels encrypted

# The same work in each kernel's language.
SAMPLES = {
    "go": {
        "setup": "",
        "complete": "fmt.Printl",
        "match": "Println",
        "lines": f'for i := 0; i < {LINES}; i++ {{\n\tfmt.Println("line", i)\n}}',
        "ready": 'import "cancha/runtime/display"',
        "display": f'display.Show(display.HTML(strings.Repeat("x", {DISPLAY})))',
        "endless": 'kept := 41\nfmt.Println("running")\nfor {\n}',
        "kept": "kept + 1",
    },
    "python": {
        "setup": "import os",
        "complete": "os.path.joi",
        "match": "join",
        "lines": f'for i in range({LINES}):\n    print("line", i)',
        "ready": "from IPython.display import display, HTML",
        "display": f'display(HTML("x" * {DISPLAY}))',
        "endless": 'kept = 41\nprint("running", flush=True)\nwhile True:\n    pass',
        "kept": "kept + 1",
    },
    "typescript": {
        "setup": "",
        "complete": "console.lo",
        "match": "log",
        "lines": f'for (let i = 0; i < {LINES}; i++) console.log("line", i);',
        "ready": "",
        "display": f'await Deno.jupyter.display({{"text/html": "x".repeat({DISPLAY}), "text/plain": "x"}}, {{raw: true}});',
        "endless": 'globalThis.kept = 41;\nconsole.log("running");\nawait new Promise((go) => setTimeout(go, 50));\nwhile (true) {}',
        "kept": "globalThis.kept + 1",
    },
}

# What is measured, its unit, and the most that is asked of the first kernel; None where nothing is.
MEASURES = {
    "start to kernel_info_reply": ("ms", 150),
    "start to first 1+1 reply": ("ms", None),
    f"1+1, median of {CELLS} cells": ("ms", 1.5),
    f"1+1, slowest of {CELLS} cells": ("ms", None),
    "completion, first": ("ms", None),
    f"completion, median of {COMPLETIONS}": ("ms", 5),
    f"{LINES:,} short lines, all there": ("s", 0.8),
    f"messages of {LINES:,} short lines": ("", 10),
    f"a display of {DISPLAY >> 20} MB": ("s", 0.2),
    f"interrupt of an endless cell, state kept, median of {INTERRUPTS}": ("ms", 40),
    f"interrupt of an endless cell, slowest of {INTERRUPTS}": ("ms", None),
}


class Kernel:
    """One started kernel and a client of it."""

    def __init__(self, name: str):
        spec, encrypted, _ = name.partition(CURVE)
        self.manager = jupyter_client.KernelManager(kernel_name=spec, transport_encryption="required" if encrypted else "disabled")
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.begin = time.perf_counter()
        self.manager.start_kernel(stdout=self.log, stderr=self.log)
        self.client = self.manager.client()
        self.context = self.client.context = zmq.Context()
        self.context.RECONNECT_IVL = 5  # milliseconds; for every socket made from here on
        self.client.start_channels(hb=False, stdin=False)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.context.destroy(linger=100)
        self.log.close()

    def said(self) -> str:
        """Return the end of what the kernel process has written."""
        self.log.seek(0)
        return self.log.read()[-2000:]

    def reply(self, request: str) -> dict:
        """Return the content of the shell reply to a request."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            message = self.client.get_shell_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == request:
                return message["content"]
        raise TimeoutError(f"no reply to {request} in {PATIENCE} s")

    def published(self, request: str):
        """Yield what is published for a request, up to its idle message."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            yield message["msg_type"], message["content"]
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return

    def run(self, code: str) -> tuple[float, str]:
        """Run a cell that must succeed and return the seconds to its reply, and its result or text."""
        begin = time.perf_counter()
        request = self.client.execute(code)
        content = self.reply(request)
        took = time.perf_counter() - begin
        if content["status"] != "ok":
            raise RuntimeError(f"{code!r} failed: {content}")
        text = ""
        for kind, content in self.published(request):
            if kind == "execute_result":
                text = plain(content["data"]["text/plain"])
        return took, text


def start(kernel: Kernel) -> dict:
    kernel.reply(kernel.client.kernel_info())
    return {"start to kernel_info_reply": 1e3 * (time.perf_counter() - kernel.begin)}


def first_cell(kernel: Kernel) -> dict:
    sent = time.perf_counter() - kernel.begin
    took, text = kernel.run("1+1")
    expect(text, "2")
    return {"start to first 1+1 reply": 1e3 * (sent + took)}


def cells(kernel: Kernel) -> dict:
    times = [kernel.run("1+1")[0] for _ in range(CELLS)]
    return {f"1+1, median of {CELLS} cells": 1e3 * statistics.median(times), f"1+1, slowest of {CELLS} cells": 1e3 * max(times)}


def completions(kernel: Kernel, sample: dict) -> dict:
    kernel.run(sample["setup"])
    times = []
    for _ in range(COMPLETIONS + 1):
        begin = time.perf_counter()
        matches = kernel.reply(kernel.client.complete(sample["complete"]))["matches"]
        times.append(time.perf_counter() - begin)
        if not any(sample["match"] in match for match in matches):
            raise RuntimeError(f"completing {sample['complete']!r} gave {matches[:5]}, want {sample['match']}")
    return {"completion, first": 1e3 * times[0], f"completion, median of {COMPLETIONS}": 1e3 * statistics.median(times[1:])}


def lines(kernel: Kernel, sample: dict) -> dict:
    """Measure much output; all of it must arrive, in order."""
    begin = time.perf_counter()
    request = kernel.client.execute(sample["lines"])
    texts = [content["text"] for kind, content in kernel.published(request) if kind == "stream"]
    took = time.perf_counter() - begin
    kernel.reply(request)
    text = plain("".join(texts))
    if text != "".join(f"line {i}\n" for i in range(LINES)):
        raise RuntimeError(f"{text.count(chr(10))} lines arrived of {LINES}, or in another order")
    return {f"{LINES:,} short lines, all there": took, f"messages of {LINES:,} short lines": len(texts)}


def display(kernel: Kernel, sample: dict) -> dict:
    """Measure a large display; it must arrive."""
    kernel.run(sample["ready"])
    begin = time.perf_counter()
    request = kernel.client.execute(sample["display"])
    sizes = [len(content["data"]["text/html"]) for kind, content in kernel.published(request) if kind == "display_data"]
    took = time.perf_counter() - begin
    expect(kernel.reply(request)["status"], "ok")
    if sizes != [DISPLAY]:
        raise RuntimeError(f"displays of {sizes} bytes arrived, want one of {DISPLAY}")
    return {f"a display of {DISPLAY >> 20} MB": took}


def plain(text: str) -> str:
    """Return text without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def interrupts(kernel: Kernel, sample: dict) -> dict:
    times = []
    for _ in range(INTERRUPTS):
        request = kernel.client.execute(sample["endless"])
        published = kernel.published(request)
        next(content for kind, content in published if kind == "stream")
        begin = time.perf_counter()
        kernel.manager.interrupt_kernel()
        expect(kernel.reply(request)["status"], "error")
        times.append(time.perf_counter() - begin)
        for _ in published:  # up to idle
            pass
    expect(kernel.run(sample["kept"])[1], "42")
    return {f"interrupt of an endless cell, state kept, median of {INTERRUPTS}": 1e3 * statistics.median(times),
            f"interrupt of an endless cell, slowest of {INTERRUPTS}": 1e3 * max(times)}


def expect(got: str, want: str):
    if got != want:
        raise RuntimeError(f"got {got!r}, want {want!r}")


def measure(name: str, hopeless: set[str]) -> dict:
    """Start a kernel once and measure everything but what is hopeless; what fails is reported and left out."""
    kernel = Kernel(name)
    sample = SAMPLES[kernel.manager.kernel_spec.language]
    values = {}
    try:
        for step, *arguments in ((start,), (first_cell,), (cells,), (completions, sample), (lines, sample), (display, sample), (interrupts, sample)):
            if step.__name__ in hopeless:
                continue
            try:
                values |= step(kernel, *arguments)
            except (RuntimeError, TimeoutError, queue.Empty) as error:
                hopeless.add(step.__name__)
                print(f"{name}: {step.__name__}: {type(error).__name__}: {error}\n{kernel.said()}", file=sys.stderr)
    finally:
        kernel.close()
    return values


def measure_compiled(name: str) -> list[tuple]:
    """Measure compiled cells in one session; none where it fails, which is reported."""
    kernel = Kernel(name)
    try:
        return compiled.measure(kernel)
    except (RuntimeError, TimeoutError, queue.Empty, OSError) as error:
        print(f"{name}: compiled cells: {type(error).__name__}: {error}\n{kernel.said()}", file=sys.stderr)
        return []
    finally:
        kernel.close()


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {processor()}, {cores} cores, Python {platform.python_version()}"


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def load() -> str:
    return "/".join(f"{value:.1f}" for value in os.getloadavg())


def report(names: list[str], runs: dict, about: str) -> str:
    """Return the table as Markdown."""
    head = ["", *names, *(f"{names[0]} / {name}" for name in names[1:]), "target"]
    text = [f"# Kernels side by side\n\n{about}\n", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row, (unit, target) in MEASURES.items():
        medians = [middle([run[row] for run in runs[name] if row in run]) for name in names]
        shown = ["failed" if m is None else f"{m:.2f} {unit}" if unit else f"{m:g}" for m in medians]
        ratios = ["" if None in (medians[0], m) else f"{medians[0] / m:.2f}" for m in medians[1:]]
        text.append("| " + " | ".join([row, *shown, *ratios, verdict(medians[0], unit, target)]) + " |")
    return "\n".join(text) + "\n"


def compiled_report(rows: list[tuple], about: str) -> str:
    text = [f"\n# Compiled cells\n\n{about}\n", "| | value | target |", "| --- | --- | --- |"]
    text += [f"| {name} | {value:.2f} {unit} | {verdict(value, unit, target)} |" for name, value, unit, target in rows]
    return "\n".join(text) + "\n"


def middle(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def verdict(value: float | None, unit: str, target: float | None) -> str:
    if target is None:
        return ""
    return f"at most {target} {unit}: ".replace(" :", ":") + ("met" if value is not None and value <= target else "not met")


def deno(folder: str) -> str | None:
    """Write deno's kernelspec below a folder of Jupyter's, and return its version; None where there is no deno."""
    binary = shutil.which("deno", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
    if binary is None:
        return None
    spec = pathlib.Path(folder, "kernels", "deno")
    spec.mkdir(parents=True)
    argv = [binary, "jupyter", "--kernel", "--conn", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Deno", "language": "typescript"}))
    return subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--kernel", action="append", help="a kernelspec; the first is compared with the others")
    parser.add_argument("--plain", action="store_true", help="leave compiled cells out")
    parser.add_argument("--out", help="write the table to this file too")
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [os.environ.get("JUPYTER_PATH"), folder.name]))
    version = deno(folder.name)
    names = options.kernel or ["cancha", "cancha" + CURVE, "python3", *(["deno"] if version else [])]
    before, runs, hopeless = load(), {name: [] for name in names}, {name: set() for name in names}
    for number in range(options.starts):
        for name in names:
            runs[name].append(measure(name, set() if name == names[0] else hopeless[name]))
            print(f"start {number + 1} of {options.starts}, {name}: {len(runs[name][-1])} of {len(MEASURES)} measured", file=sys.stderr)
    about = (f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}; {machine()}; ipykernel {ipykernel.__version__}, "
             f"deno {version or 'not installed'}; load average {before} before, {load()} after; medians of {options.starts} starts.")
    table = report(names, runs, about)
    rows = []
    if not options.plain:
        before = load()
        rows = measure_compiled(names[0])
        table += compiled_report(rows, f"One session of {names[0]}; load average {before} before, {load()} after.")
    print(table)
    if options.out:
        with open(options.out, "w") as file:
            file.write(table)
    return 0 if all(len(run) == len(MEASURES) for run in runs[names[0]]) and (rows or options.plain) else 1


if __name__ == "__main__":
    sys.exit(main())
