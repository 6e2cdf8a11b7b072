"""Makes the PTX of our funcs, and assembles it for the GPUs that we name: runtime/gpu/cuda/kernels.ptx of kernels.cu, and beside each
.cu file of another room, which brings funcs of its own, the .ptx file of the same name.

    python scripts/ptx.py --libraries out/cuda [--write]

Needs neither a GPU nor a driver: libnvrtc (CUDA 11.8, whose PTX drivers from 520 on take) and ptxas come from NVIDIA's
packages on PyPI (scripts/cuda-env.sh unpacks them). Prints registers and spills of each kernel. Fails where what is
embedded differs from what is made, where a kernel spills, and where a room's funcs would round otherwise than Go; --write stores what is made
first.
"""

import argparse
import ctypes
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOM = ROOT / "runtime" / "gpu" / "cuda"
TARGETS = ["sm_80", "sm_86", "sm_90"]


def sources():
    """Returns each source with the options that it is compiled with. What rooms bring rounds as Go does: no fused multiply-add."""
    brought = [(path, [b"--fmad=false"]) for room in ("ml", "runtime/gpu/gputest", "statsbomb", "stream") for path in sorted(ROOT.glob(f"{room}/**/*.cu"))]
    return [(ROOM / "kernels.cu", [])] + brought


def compile_ptx(library, source, more):
    """Returns the PTX of a source file for compute capability 8.0 and newer."""
    nvrtc = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()

    def call(name, *args):
        code = getattr(nvrtc, name)(*args)
        if code:
            sys.exit(f"{name}: error {code}\n{text('nvrtcGetProgramLogSize', 'nvrtcGetProgramLog') if name == 'nvrtcCompileProgram' else ''}")

    def text(size, get):
        n = ctypes.c_size_t()
        call(size, program, ctypes.byref(n))
        buffer = ctypes.create_string_buffer(n.value)
        call(get, program, buffer)
        return buffer.value.decode()

    header = ROOM / "func.cuh"
    headers, names = (ctypes.c_char_p * 1)(header.read_bytes()), (ctypes.c_char_p * 1)(header.name.encode())
    call("nvrtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), 1, headers, names)
    options = [b"--gpu-architecture=compute_80", b"--std=c++14"] + more
    call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
    return text("nvrtcGetPTXSize", "nvrtcGetPTX")


def assemble(ptxas, ptx, target):
    """Returns rows (kernel, registers, bytes of shared memory, bytes spilled) for a target."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "kernels.ptx")
        source.write_text(ptx)
        done = subprocess.run([str(ptxas), "-v", f"-arch={target}", str(source), "-o", str(source) + ".cubin"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ptxas for {target}:\n{done.stderr}")
    entry = re.compile(
        r"Compiling entry function '(\w+)' for '\w+'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers(?:[^\n]*?(\d+) bytes smem)?",
        re.S,
    )
    return [(m[1], int(m[5]), int(m[6] or 0), int(m[3]) + int(m[4])) for m in entry.finditer(done.stderr)]


def check(libraries, source, options, write):
    """Compiles and assembles one source, and tells whether something is wrong."""
    made = compile_ptx(libraries / "nvrtc-11.8/nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2", source, options)
    stored = source.with_suffix(".ptx")
    name = stored.relative_to(ROOT)
    if write:
        stored.write_text(made)
    have = stored.read_text() if stored.exists() else ""
    failed = have != made
    if failed:
        print(f"{name} is not what {source.name} gives: run make ptx and commit it\n")
        print("\n".join(list(difflib.unified_diff(have.splitlines(), made.splitlines(), "stored", "made", lineterm="", n=1))[:40]))
    # without .rn ptxas may still make one instruction of a product and a sum
    fused = re.findall(r"^.*\b(?:fma|mad|(?:mul|add|sub)(?!\.rn))(?:\.\w+)*\.f(?:32|64)\b.*$", made, re.M) if options else []
    if fused:
        print(f"{name} has arithmetic that may be fused, and then rounds otherwise than Go's:\n" + "\n".join(fused[:10]))
        failed = True
    entries = set(re.findall(r"\.entry (\w+)", made))
    print(name)
    for target in TARGETS:
        rows = assemble(libraries / "nvcc-12.6/nvidia/cuda_nvcc/bin/ptxas", made, target)
        print(f"{target:24}registers  shared bytes  spilled bytes")
        for kernel, registers, shared, spilled in sorted(rows):
            print(f"  {kernel:22}{registers:9}{shared:14}{spilled:15}")
            failed |= spilled > 0
        if {row[0] for row in rows} != entries:
            sys.exit(f"{target}: ptxas told of {len(rows)} kernels, and there are {len(entries)}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", required=True, type=pathlib.Path, help="where scripts/cuda-env.sh unpacked NVIDIA's packages")
    parser.add_argument("--write", action="store_true", help="store the PTX")
    args = parser.parse_args()
    if any([check(args.libraries, source, options, args.write) for source, options in sources()]):
        sys.exit("failed: see above")


if __name__ == "__main__":
    main()
