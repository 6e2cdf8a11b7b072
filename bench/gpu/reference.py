"""Measures PyTorch and CuPy on the GPU at hand, in the sizes of bench/gpu, and writes reference-DEVICE-DATE.json beside its file.

    python3 bench/gpu/reference.py --out bench/results

Times are medians of 20, by CUDA events, after 5 that do not count; float32 without TF32. Rows of bench/gpu's works have its names. CuPy is
left out where it is not installed, and the reason is told.
"""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess

import torch


def timed(work, times=20, warm=5):
    """Returns the median of a work's milliseconds on the device."""
    found = []
    for i in range(warm + times):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        if i >= warm:
            found.append(begin.elapsed_time(end))
    return statistics.median(found)


def add(n):
    """An addition of vectors that are on the device."""
    a, b, c = (torch.rand(n, device="cuda") for _ in range(3))
    return lambda: torch.add(a, b, out=c)


def multiply(n):
    """A product of matrices that are on the device."""
    a, b, c = (torch.rand(n, n, device="cuda") for _ in range(3))
    return lambda: torch.mm(a, b, out=c)


def convolve(images):
    """A filter of 3 × 3 over images of 1024 × 1024."""
    x, w = torch.rand(images, 1, 1024, 1024, device="cuda"), torch.rand(1, 1, 3, 3, device="cuda")
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


def step(graph):
    """A step of the network of 784, 256 and 10 units, batch 64, fused Adam as ours is: as one CUDA graph, or launch by launch."""
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), fused=True, capturable=True)
    x, y = torch.rand(64, 784, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    def once():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    if not graph:
        return once
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(side)
    kept = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)  # so that the gradients are allocated from the graph's own memory
    with torch.cuda.graph(kept):
        once()

    def replay(_held=(model, optimizer, x, y)):  # the graph reads their memory, and does not hold it
        kept.replay()

    return replay


def cupy_add(n):
    """CuPy's addition, by its own events, and its version."""
    import cupy
    import numpy
    from cupyx.profiler import benchmark

    a, b = cupy.random.rand(n, dtype=cupy.float32), cupy.random.rand(n, dtype=cupy.float32)
    c = cupy.empty_like(a)
    seconds = benchmark(lambda: cupy.add(a, b, out=c), n_repeat=20, n_warmup=5).gpu_times
    return float(numpy.median(seconds)) * 1000, cupy.__version__


def driver():
    """The version of NVIDIA's driver, or why it is not known."""
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError) as err:
        return f"not known: {err}"


def main():
    """Measures and writes."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    out = arguments.parse_args().out
    out.mkdir(parents=True, exist_ok=True)  # before what takes minutes
    torch.backends.cudnn.benchmark = True  # the fastest of cuDNN's convolutions
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device, date = torch.cuda.get_device_name(), datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rows = {f"vector add, {n:,} elements": timed(add(n)) for n in (10_000_000, 100_000_000)}
    rows |= {f"matrix multiply, {n} × {n}": timed(multiply(n)) for n in (1000, 4096)}
    rows |= {f"convolution, {n} × 1024 × 1024 by 3 × 3": timed(convolve(n)) for n in (4, 32)}
    rows["network, a step, launch by launch"] = timed(step(graph=False))
    rows["network, a step, as a graph"] = timed(step(graph=True))
    result = {"date": date, "device": device, "driver": driver(), "pytorch": torch.__version__, "cuda": torch.version.cuda}
    result["optimizer"] = "Adam, fused as bench/gpu's"
    try:
        rows["vector add, 100,000,000 elements, CuPy"], result["cupy"] = cupy_add(100_000_000)
    except ImportError as err:
        result["cupy"] = f"left out: {err}"
    result["milliseconds"] = rows
    name = re.sub("[^a-z0-9]+", "-", device.lower()).strip("-")
    path = out / f"reference-{name}-{date}.json"
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    print(path.read_text())


if __name__ == "__main__":
    main()
