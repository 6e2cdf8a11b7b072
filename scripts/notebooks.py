"""Runs notebooks through nbclient, the reference client, and checks what came out.

    python notebooks.py [--short] --out FOLDER NOTEBOOK...

A notebook fails when a cell fails, when a code cell was not run, when a cell that holds a figure as committed has none now,
and when it has no code, or no outputs as committed to compare with. The executed notebooks are written to FOLDER; the
committed ones stay as they are. --short gives them less to do.
"""
import argparse
import pathlib
import re
import sys
import time

import nbclient
import nbformat

# Kinds of output that a reader would miss.
FIGURES = ("image/png", "image/svg+xml", "text/html")


# What parameters are with --short, where a notebook has them.
SHORT = {"events": "9_000", "matches": "60", "refits": "10", "trees": "20", "elements": "1_000_000", "matrix": "300", "images": "1", "rows": "400",
         "count": "20"}


def shorten(notebook) -> None:
    """Give the parameters of a notebook smaller values, in their cell."""
    for cell in notebook.cells:
        if "parameters" not in cell.metadata.get("tags", []):
            continue
        for name, value in SHORT.items():
            cell.source = re.sub(rf"(?m)^({name}\s*:?=\s*)[0-9_]{{2,}}", rf"\g<1>{value}", cell.source)


def figures(cell) -> set[str]:
    """Return the kinds of figures among a code cell's outputs."""
    return {kind for output in cell.get("outputs", []) for kind in FIGURES if kind in output.get("data", {})}


def runs(cell) -> bool:
    """Report whether a cell is to be run."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def run(path: pathlib.Path, out: pathlib.Path, timeout: int, short: bool) -> tuple[str, list[str]]:
    """Run one notebook in its own folder and return what was run, and what is wrong with it."""
    stored = nbformat.read(path, as_version=4)
    wanted = [figures(cell) for cell in stored.cells]
    if short:
        shorten(stored)
    faults = []
    if not any(runs(cell) for cell in stored.cells):
        faults.append("it has no code")
    elif not any(cell.outputs for cell in stored.cells if runs(cell)):
        faults.append("it is committed without outputs")
    client = nbclient.NotebookClient(stored, timeout=timeout, resources={"metadata": {"path": str(path.parent)}})
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        faults.append(str(error).strip())
    except (nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as error:
        faults.append(f"{type(error).__name__}: {error}")
    nbformat.write(stored, out / path.name)
    shown = sum(bool(figures(cell)) for cell in stored.cells)
    summary = f"{sum(runs(cell) and cell.execution_count is not None for cell in stored.cells)} cells run, {shown} with figures"
    if faults:
        return summary, faults
    for number, (cell, kinds) in enumerate(zip(stored.cells, wanted), 1):
        if not runs(cell):
            continue
        if cell.execution_count is None:
            faults.append(f"cell {number} was not run")
        for output in cell.outputs:
            if output.output_type == "error":
                faults.append(f"cell {number}: {output.ename}: {output.evalue}")
        if missing := kinds - figures(cell):
            faults.append(f"cell {number} shows no {', '.join(sorted(missing))}, and does as committed")
    return summary, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=int, default=180, help="seconds for one cell")
    parser.add_argument("--short", action="store_true", help="with less to do")
    parser.add_argument("notebooks", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in options.notebooks:
        begin = time.monotonic()
        summary, faults = run(path, options.out, options.timeout, options.short)
        took = time.monotonic() - begin
        failed += bool(faults)
        print(f"{'FAIL' if faults else 'ok'}   {path}  {took:.1f} s, {summary}", flush=True)
        for fault in faults:
            print(f"    {fault}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
