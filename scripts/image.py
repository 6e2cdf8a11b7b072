"""Runs the steps of jupyter/lab/Dockerfile without Docker, in bare Debian roots, and tries what came of them.

    python image.py [--target lab] [--keep]

Each stage gets a root of its own: debootstrap's smallest Debian with what the images of golang and python have. RUN is run in it by chroot,
COPY copies what git knows of the checkout, or from another stage. The build's own caches of Go are used, so that a step is not compiled
anew; those of the image's user are not. Needs root, debootstrap and 6 GB below the temporary folder; exit 3 where one is missing. It is no
Docker: layers, capabilities and a read-only root are not tried.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "jupyter/lab/Dockerfile"
PACKAGES = "ca-certificates,gcc,libc6-dev,python3,python3-pip,python3-venv"
# What a build may need to reach its servers; the rest of the environment is the image's.
PASSED = ("GOPROXY", "GONOSUMDB", "GOFLAGS", "GOSUMDB", "PIP_INDEX_URL", "PIP_CERT", "PIP_FIND_LINKS", "PIP_DEFAULT_TIMEOUT", "http_proxy", "https_proxy", "no_proxy",
          "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions and their arguments, lines that go on joined."""
    text = re.sub(r"(?m)^\s*#.*\n?", "", text).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def go(name: str) -> pathlib.Path:
    return pathlib.Path(subprocess.run(["go", "env", name], capture_output=True, text=True, check=True).stdout.strip())


class Stage:
    """A root on its way to an image."""

    def __init__(self, folder: pathlib.Path, base):
        self.root = folder
        self.env = dict(base.env) if base else {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.user, self.place, self.shell, self.entry = "0", "/", ["/bin/sh", "-c"], None
        if base:
            self.user, self.place, self.shell, self.entry = base.user, base.place, base.shell, base.entry
            subprocess.run(["cp", "-a", "--reflink=auto", base.root, folder], check=True)
        else:
            folder.mkdir()

    def path(self, inside: str) -> pathlib.Path:
        return self.root / os.path.join(self.place, inside).lstrip("/")

    def home(self) -> str:
        return "/root" if self.user in ("0", "root") else "/home/cancha"

    def run(self, command: list[str], **how) -> subprocess.CompletedProcess:
        user = {"root": "0", "cancha": "1000"}.get(self.user.split(":")[0], self.user.split(":")[0])
        env = {name: os.environ[name] for name in PASSED if name in os.environ} | self.env | {"HOME": self.home()}
        with mounted(self.root, user == "0"):
            return subprocess.run(["chroot", f"--userspec={user}:{user}", self.root, "/bin/sh", "-c", f"cd {shlex.quote(self.place)} && exec \"$@\"", "sh", *command],
                                  env=env, check=True, **how)

    def copy(self, arguments: str, stages: dict):
        words = shlex.split(arguments)
        flags = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
        *sources, target = [word for word in words if not word.startswith("--")]
        for source in sources:
            if "from" in flags:
                origin = stages[flags["from"]].root / source.lstrip("/")
                self.put(origin, self.path(target) / origin.name if target.endswith("/") else self.path(target))
            else:
                self.put_tracked(source, target)
        if "chown" in flags:
            subprocess.run(["chown", "-R", flags["chown"], self.path(target)], check=True)

    def put(self, origin: pathlib.Path, to: pathlib.Path):
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", "-T", origin, to], check=True)

    def put_tracked(self, source: str, target: str):
        """Copy what git knows below source: the checkout may hold secrets and builds that .dockerignore leaves out."""
        names = subprocess.run(["git", "ls-files", "-z", source], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        for name in filter(None, names):
            to = self.path(target) / (name if source == "." else pathlib.Path(name).name)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to, follow_symlinks=False)

    @contextlib.contextmanager
    def bound(self, arguments: str, stages: dict):
        """Return a command without its mounts: files of other stages are there meanwhile, and caches are there anyway."""
        files = []
        while found := re.match(r"--mount=(\S+)\s+", arguments):
            arguments = arguments[found.end():]
            mount = dict(part.split("=", 1) for part in found[1].split(","))
            if mount["type"] == "bind":
                files.append(self.path(mount["target"]))
                self.put(stages[mount["from"]].root / mount["source"].lstrip("/"), files[-1])
        yield arguments
        for file in files:
            file.unlink()

    def step(self, what: str, arguments: str, stages: dict):
        if what == "RUN":
            with self.bound(arguments, stages) as command:
                self.run([*self.shell, command])
        elif what == "COPY":
            self.copy(arguments, stages)
        elif what == "WORKDIR":
            self.place = os.path.join(self.place, arguments)
            self.path("").mkdir(parents=True, exist_ok=True)
        elif what == "USER":
            self.user = arguments
        elif what == "ENV":
            for name, value in (word.split("=", 1) for word in shlex.split(arguments)):
                self.env[name] = re.sub(r"\$(\w+)", lambda m: self.env.get(m[1], ""), value)
        elif what == "SHELL":
            self.shell = re.findall(r'"([^"]*)"', arguments)
        elif what == "ENTRYPOINT":
            self.entry = re.findall(r'"([^"]*)"', arguments)
        elif what not in ("CMD", "EXPOSE"):
            raise ValueError(f"no way is known to {what} without Docker")


@contextlib.contextmanager
def mounted(root: pathlib.Path, builder: bool):
    """Give a root the kernel's file systems, and a builder Go's caches."""
    mounts = [("/proc", "proc"), ("/dev", "dev"), ("/sys", "sys")]
    if builder:
        mounts += [(go("GOMODCACHE"), "go/pkg/mod"), (go("GOCACHE"), "root/.cache/go-build")]
    done = []
    try:
        for origin, inside in mounts:
            to = root / inside
            to.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--rbind", "--make-rslave", origin, to], check=True)
            done.append(to)
        yield
    finally:
        for to in reversed(done):
            subprocess.run(["umount", "-R", "-l", to], check=False)


def debian(folder: pathlib.Path) -> Stage:
    """Make the root that stands for the images of golang and of python."""
    stage = Stage(folder, None)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", folder], check=True, stdout=subprocess.DEVNULL)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    for certificates in filter(None, {os.environ.get("PIP_CERT"), os.environ.get("SSL_CERT_FILE")}):
        stage.put(pathlib.Path(certificates), folder / certificates.lstrip("/"))
    return stage


def base(name: str, folder: pathlib.Path, stages: dict) -> Stage:
    if name in stages:
        return Stage(folder, stages[name])
    if name == "scratch":
        return Stage(folder, None)
    if "debian" not in stages:
        stages["debian"] = debian(folder.parent / "debian")
    stage = Stage(folder, stages["debian"])
    if name.startswith("golang:"):
        stage.put(go("GOROOT"), folder / "usr/local/go")
        stage.env |= {"PATH": "/go/bin:/usr/local/go/bin:" + stage.env["PATH"], "GOPATH": "/go", "GOTOOLCHAIN": "local"}
    elif name.startswith("python:"):
        stage.run(["python3", "-m", "venv", "/usr/local"])
    else:
        raise ValueError(f"nothing is known of the image {name}")
    return stage


def needed(instructions, targets: list[str]) -> set[str]:
    """Return the stages that targets are made of."""
    parents, current = {}, ""
    for what, arguments in instructions:
        if what == "FROM":
            origin, _, current = arguments.split()
            parents[current] = {origin}
        else:
            parents[current].update(re.findall(r"\bfrom=(\w[\w-]*)", arguments))
    all, waiting = set(), list(targets)
    while waiting:
        if (name := waiting.pop()) not in all:
            all.add(name)
            waiting += parents.get(name, ())
    return all


def build(targets: list[str], folder: pathlib.Path) -> dict[str, Stage]:
    instructions, stages, stage = steps(DOCKERFILE.read_text()), {}, None
    wanted = needed(instructions, targets)
    for what, arguments in instructions:
        if what == "FROM":
            origin, _, name = arguments.split()
            stage = None
            if name in wanted:
                print(f"== {name}", flush=True)
                stage = stages[name] = base(origin, folder / name, stages)
        elif stage:
            print(f"   {what} {arguments[:110]}", flush=True)
            stage.step(what, arguments, stages)
    return stages


def tried(stage: Stage) -> list[str]:
    """Try an image as its user would: the program, and where there is JupyterLab its kernel, which compiles cells."""
    if stage.entry:
        said = subprocess.run(["chroot", "--userspec=1000:1000", stage.root, *stage.entry, "version"], capture_output=True, text=True, check=False).stdout
        return [] if said.startswith("cancha ") else [f"the entry point said {said!r}"]
    notebook = ROOT / "notebooks/01_tour.ipynb"
    shutil.copy(notebook, stage.path("notebooks") / notebook.name)
    faults = []
    for command, want in ((["jupyter", "kernelspec", "list"], "cancha"), (["cancha", "run", "-o", "/tmp/tour.ipynb", "notebooks/01_tour.ipynb"], "wrote"),
                          (["cancha", "doctor"], "compiles cells")):
        done = stage.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print("\n".join("   | " + line[:150] for line in done.stdout.splitlines()[-14:]))
        if want not in done.stdout:
            faults.append(f"{command} does not say {want!r}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", help="a stage; more than one may be given (program and lab)")
    parser.add_argument("--keep", action="store_true", help="leave the roots where they are")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("chroot"):
        print("skipped: the Dockerfile's steps need root and debootstrap")
        return 3
    folder, faults = pathlib.Path(tempfile.mkdtemp(prefix="image-")), []
    try:
        targets = options.target or ["program", "lab"]
        stages = build(targets, folder)
        for target in targets:
            faults += [f"{target}: {fault}" for fault in tried(stages[target])]
    finally:
        if not options.keep:
            subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)
    print("\n".join("FAILED " + fault for fault in faults) or "the images' steps run")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
