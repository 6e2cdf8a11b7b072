"""Measures cells that are compiled, beside the same code compiled by "go build" and run in turns with it.

What is compared is timed inside: by the cell, and by the program, around the same statements. Of several turns the fastest
counts on both sides, since what else the machine does can only slow one down. Each declaration has a text of its own, because built
cells are kept.
"""
import itertools
import math
import pathlib
import statistics
import subprocess
import tempfile
import time

STATEMENTS = 200
DECLARATIONS = 20
TURNS = 25
INTERRUPTS = 200
CALLS = 2_000_000

FIB = "func fib(n int) int {\n\tif n < 2 {\n\t\treturn n\n\t}\n\treturn fib(n-1) + fib(n-2)\n}\n"
LOOP = "func loop(n int) int {\n\tsum := 1\n\tfor i := 0; i < n; i++ {\n\t\tsum += sum ^ i\n\t}\n\treturn sum\n}\n"

# What is compared: name, statements, which print nanoseconds and a result, and the most that a cell may take of what the
# program takes.
COMPARED = [
    ("fib(35)", "begin := time.Now()\nresult := fib(35)\nfmt.Println(time.Since(begin).Nanoseconds(), result)\n", 1.2),
    ("1e8 turns of a loop in a function", "begin := time.Now()\nresult := loop(100_000_000)\nfmt.Println(time.Since(begin).Nanoseconds(), result)\n", 1.1),
    ("1e8 turns of a loop in a cell's statements", "begin := time.Now()\nsum := 1\nfor i := 0; i < 100_000_000; i++ {\n\tsum += sum ^ i\n}\n"
     "fmt.Println(time.Since(begin).Nanoseconds(), sum)\n", 1.1),
]

# Cells that run until they are interrupted, once they have printed a line.
ENDLESS = {
    "an empty loop": "fmt.Println(0)\nfor {\n}",
    "a loop in a function": "fmt.Println(0)\nspin()",
    "a loop, interpreted": "%%interp\nfmt.Println(0)\nfor i := 0; ; i++ {\n}",
    "a recursion": "fmt.Println(0)\nfib(60)",
    "a channel": "fmt.Println(0)\n<-make(chan int)",
    "a channel in a function": "fmt.Println(0)\nreceive(make(chan int))",
    "a sleep": "fmt.Println(0)\ntime.Sleep(time.Hour)",
    "a select": "fmt.Println(0)\nselect {}",
    "a select of two": "fmt.Println(0)\nselect {\ncase <-make(chan int):\ncase <-time.After(time.Hour):\n}",
    "a mutex": "locked := new(sync.Mutex)\nlocked.Lock()\nfmt.Println(0)\nlocked.Lock()",
    "a sort callback": "fmt.Println(0)\nsort.Slice(make([]int, 1<<24), func(i, j int) bool { return i*j%7 < 3 })",
    "a sort callback, interpreted": "%%interp\nfmt.Println(0)\nsort.Slice(make([]int, 1<<24), func(i, j int) bool { return i*j%7 < 3 })",
}


def measure(kernel) -> list[tuple[str, float, str, float | None]]:
    """Return rows of name, value, unit and the target that the value is to stay below."""
    kernel.run('import (\n\t"fmt"\n\t"sort"\n\t"sync"\n\t"time"\n)\nvalue := 0')
    kernel.run(FIB + LOOP + "func spin() {\n\tfor i := 0; ; i++ {\n\t}\n}\nfunc receive(c chan int) int { return <-c }")
    return [*small(kernel), *compared(kernel), *stopped(kernel), *calls(kernel), *interrupts(kernel)]


def small(kernel):
    times = [kernel.run("value = value + 1")[0] for _ in range(STATEMENTS)]
    yield f"value = value + 1, median of {STATEMENTS} cells", 1e3 * statistics.median(times), "ms", 3
    new = time.time_ns()
    times = [kernel.run(f"func add{n}(x int) int {{\n\treturn x + {new}\n}}")[0] for n in range(DECLARATIONS)]
    yield f"declaring a function, median of {DECLARATIONS} cells", 1e3 * statistics.median(times), "ms", 700
    yield f"declaring a function, slowest of {DECLARATIONS} cells", 1e3 * max(times), "ms", None


def compared(kernel):
    """Run each of COMPARED by turns in a cell and in a program of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, code, limit) in enumerate(COMPARED):
            program = build(pathlib.Path(folder) / str(number), code)
            cells, programs, results = [], [], set()
            for _ in range(TURNS):
                for times, printed in ((programs, subprocess.run([program], capture_output=True, text=True, check=True).stdout), (cells, said(kernel, code))):
                    nanoseconds, result = printed.split()
                    times.append(int(nanoseconds))
                    results.add(result)
            if len(results) != 1:
                raise RuntimeError(f"{name}: cell and program differ: {results}")
            yield f"{name}, compiled by go build", min(programs) / 1e6, "ms", None
            yield f"{name}, in a cell", min(cells) / 1e6, "ms", None
            yield f"{name}, cell / go build", min(cells) / min(programs), "x", limit


def build(folder: pathlib.Path, code: str) -> pathlib.Path:
    """Build a program of the same functions and statements."""
    folder.mkdir()
    (folder / "go.mod").write_text("module compared\n\ngo 1.26\n")
    (folder / "main.go").write_text(f'package main\n\nimport (\n\t"fmt"\n\t"time"\n)\n\n{FIB}\n{LOOP}\nfunc main() {{\n{code}}}\n')
    subprocess.run(["go", "build", "-o", "program", "."], cwd=folder, check=True)
    return folder / "program"


def stopped(kernel):
    """Interrupt the functions that were compared, in longer runs."""
    for name, code in (("fib(60)", "fmt.Println(0)\nfib(60)"), ("1e15 turns of the loop", "fmt.Println(0)\nloop(1_000_000_000_000_000)")):
        yield f"interrupt of {name}, slowest of 5", 1e3 * max(interrupt(kernel, code) for _ in range(5)), "ms", 100


def calls(kernel):
    """Take the cost of a bare interpreted loop from that of one that calls."""
    kernel.run("func plus(x int) int { return x + 1 }\nfunc repeat(n int, f func(int) int) (x int) {\n\tfor range n {\n\t\tx = f(x)\n\t}\n\treturn x\n}")

    def loop(statement: str) -> float:
        code = f"%%interp\nbegin, x := time.Now(), 0\nfor i := 0; i < {CALLS}; i++ {{\n\t{statement}\n}}\nfmt.Println(time.Since(begin).Nanoseconds(), x)"
        return min(timed(kernel, code, CALLS) for _ in range(3)) / CALLS

    yield "call of a compiled function by an interpreted statement", loop("x = plus(x)") - loop("x = x + 1"), "ns", None
    code = f"%%interp\nbegin := time.Now()\nx := repeat({CALLS}, func(x int) int {{ return x + 1 }})\nfmt.Println(time.Since(begin).Nanoseconds(), x)"
    yield "call of an interpreted function by a compiled one", min(timed(kernel, code, CALLS) for _ in range(3)) / CALLS, "ns", None


def timed(kernel, code: str, want: int) -> int:
    nanoseconds, result = said(kernel, code).split()
    if int(result) != want:
        raise RuntimeError(f"{code!r} gave {result}, want {want}")
    return int(nanoseconds)


def interrupts(kernel):
    """Interrupt cells of each kind in turn; what an earlier cell declared has to be there afterwards."""
    times = {name: [] for name in ENDLESS}
    for name in itertools.islice(itertools.cycle(ENDLESS), INTERRUPTS):
        times[name].append(interrupt(kernel, ENDLESS[name]))
    for name, taken in times.items():
        yield f"interrupt of {name}, slowest of {len(taken)}", 1e3 * max(taken), "ms", None
    everything = sorted(itertools.chain(*times.values()))
    yield f"interrupt, median of {INTERRUPTS}", 1e3 * statistics.median(everything), "ms", None
    yield f"interrupt, 99th percentile of {INTERRUPTS}", 1e3 * everything[math.ceil(.99 * len(everything)) - 1], "ms", 100
    if (got := said(kernel, "fmt.Println(value, fib(20))").strip()) != f"{STATEMENTS} 6765":
        raise RuntimeError(f"after the interrupts value and fib(20) are {got}, want {STATEMENTS} 6765")


def interrupt(kernel, code: str) -> float:
    """Interrupt a cell that has printed a line and return the seconds to its reply."""
    request = kernel.client.execute(code)
    published = kernel.published(request)
    if not any(kind == "stream" for kind, _ in published):
        raise RuntimeError(f"{code!r} ended by itself")
    begin = time.perf_counter()
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(request)
    took = time.perf_counter() - begin
    if reply.get("ename") != "interrupted":
        raise RuntimeError(f"{code!r}, interrupted, replied {reply}")
    for _ in published:  # up to idle
        pass
    return took


def said(kernel, code: str) -> str:
    """Run a cell that must succeed and return what it printed."""
    request = kernel.client.execute(code)
    text = "".join(content["text"] for kind, content in kernel.published(request) if kind == "stream")
    if (reply := kernel.reply(request))["status"] != "ok":
        raise RuntimeError(f"{code!r} failed: {reply}")
    return text
