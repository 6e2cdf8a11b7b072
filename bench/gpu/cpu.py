"""Our float32 matrix product beside gonum's and OpenBLAS's, and the training of a network four ways, on one core in one run.

    python3 bench/gpu/cpu.py        # OpenBLAS: libopenblas0-pthread of Debian; without it its columns are missing

The figures of the product are the best of five rounds, in which all take turns, and those of the training the best of two: whatever else
the machine does can only make one slower. No input of the training is 0, so that gonum, which skips zeros, skips none of them.
"""

import ctypes
import ctypes.util
import os
import re
import subprocess
import sys
import time

SIZES = (256, 1000)
ROUNDS, TRAININGS = 5, 2


def openblas():
    """Returns OpenBLAS and the name of the core that it has chosen; None where it is not installed."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        library = ctypes.CDLL("libopenblas.so.0")
    except OSError:
        return None, "not installed"
    library.openblas_get_corename.restype = ctypes.c_char_p
    return library, library.openblas_get_corename().decode()


def multiply(library, n):
    """Returns OpenBLAS's GFLOP/s for n × n matrices, over about half a second."""
    number = ctypes.c_float
    a, b, c = ((number * (n * n))(*((i % k) - 2 for i in range(n * n))) for k in (7, 5, 3))
    times, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 0.5:
        library.cblas_sgemm(101, 111, 111, n, n, n, number(1), a, n, b, n, number(0), c, n)
        times += 1
    return 2 * n**3 * times / (time.perf_counter() - begin) / 1e9


def benchmark(package, pattern, unit):
    """Runs Go benchmarks on one core and returns what each reports in a unit."""
    out = subprocess.run(
        ["go", "test", "-run", "^$", "-bench", pattern, "-benchtime", "0.5s", "-cpu", "1", package], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(rf"^Benchmark(\S+)\s.*?([\d.]+) {re.escape(unit)}", out, re.MULTILINE)
    return {name: float(value) for name, value in found}


def main():
    """Measures and prints."""
    library, core = openblas()
    print(f"load {os.getloadavg()[0]:.1f}; OpenBLAS: {core}")
    best = {}

    def keep(name, value, better=max):
        best[name] = better(best.get(name, value), value)

    for _ in range(ROUNDS):
        for name, value in benchmark("./internal/blas", "Gemm", "GFLOP/s").items():
            keep(name, value)
        for n in SIZES if library else ():
            keep(f"OpenBLAS {n}", multiply(library, n))
    print("\n| n | ours | OpenBLAS | ours / OpenBLAS | gonum |\n| --- | --- | --- | --- | --- |")
    for n in SIZES:
        ours = max((v for k, v in best.items() if k.startswith(f"Gemm/n={n}/AVX")), default=best[f"Gemm/n={n}/Go"])
        theirs = best.get(f"OpenBLAS {n}")
        share = f"{theirs:.1f} GFLOP/s | {100 * ours / theirs:.0f} %" if theirs else " | "
        print(f"| {n} | {ours:.1f} GFLOP/s | {share} | {best[f'Gemm/n={n}/gonum']:.1f} GFLOP/s |")
    for _ in range(TRAININGS):
        for name, value in benchmark("./ml/nn", "Train/dense", "cpu-s/epoch").items():
            keep(name, value, min)
    first = best["Train/dense/gorgonia"]
    print("\n| an epoch of 6,400 rows | processor time | times as fast |\n| --- | --- | --- |")
    for name, value in best.items():
        if name.startswith("Train/"):
            print(f"| {name.split('/')[-1].replace('_', ' ')} | {value:.2f} s | {first / value:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
