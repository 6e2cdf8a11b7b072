"""Runs notebooks through nbclient, the reference client, and checks what came out.

    python notebooks.py --out FOLDER NOTEBOOK...

A notebook fails when a cell fails, when a code cell was not run, or when a cell that holds a figure as committed has none
now. The executed notebooks are written to FOLDER; the committed ones stay as they are.
"""
import argparse
import pathlib
import sys
import time

import nbclient
import nbformat

# Kinds of output that a reader would miss.
FIGURES = ("image/png", "image/svg+xml", "text/html")


def figures(cell) -> set[str]:
    """Return the kinds of figures among a code cell's outputs."""
    return {kind for output in cell.get("outputs", []) for kind in FIGURES if kind in output.get("data", {})}


def run(path: pathlib.Path, out: pathlib.Path, timeout: int) -> list[str]:
    """Run one notebook in its own folder and return what is wrong with it."""
    stored = nbformat.read(path, as_version=4)
    wanted = [figures(cell) for cell in stored.cells]
    client = nbclient.NotebookClient(stored, timeout=timeout, resources={"metadata": {"path": str(path.parent)}})
    faults = []
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        faults.append(str(error).strip())
    except (nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as error:
        faults.append(f"{type(error).__name__}: {error}")
    nbformat.write(stored, out / path.name)
    if faults:
        return faults
    for number, (cell, kinds) in enumerate(zip(stored.cells, wanted), 1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        if cell.execution_count is None:
            faults.append(f"cell {number} was not run")
        for output in cell.outputs:
            if output.output_type == "error":
                faults.append(f"cell {number}: {output.ename}: {output.evalue}")
        if missing := kinds - figures(cell):
            faults.append(f"cell {number} shows no {', '.join(sorted(missing))}, and does as committed")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=int, default=180, help="seconds for one cell")
    parser.add_argument("notebooks", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in options.notebooks:
        begin = time.monotonic()
        faults = run(path, options.out, options.timeout)
        took = time.monotonic() - begin
        failed += bool(faults)
        print(f"{'FAIL' if faults else 'ok'}   {path}  {took:.1f} s", flush=True)
        for fault in faults:
            print(f"    {fault}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
