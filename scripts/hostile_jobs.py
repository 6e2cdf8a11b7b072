"""Submits hostile jobs to a worker with a folder, and looks that nothing of them has happened.

    python hostile_jobs.py [--cancha bin/cancha] [--jobs 200] [--seed N]

Parameters that are Go, texts that would break out of their quotes, names that lead out of the folder by "..", by absolute
paths and by links, pipes and sockets as data, outcomes over files of a person: in random mixtures, as all four types of jobs
that use a folder. Each must end as failed or completed, never dead, and none may run on. In the end nothing outside may have
changed, no file of a person may have, no expression may have run, nothing outside may stand in a result, and the worker must
go on. As root it also tries, as another account, to read the token, to submit without it and by the socket. Exit 1 if anything
is otherwise.
"""
import argparse
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE = 300  # seconds until the last job has ended
ENDED = {"completed", "failed", "dead", "cancelled"}
SECRET = "of the outside, and nobody's business"
NOBODY = 65534

NOTEBOOK = 'n := 3\nname := "x"\nwait := time.Second\nrates := []float64{1}\nlevels := map[string]int{}'


def notebook(path: pathlib.Path):
    cell = {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "source": NOTEBOOK, "outputs": [], "execution_count": None}
    show = {"cell_type": "code", "id": "b", "metadata": {}, "source": "fmt.Println(n, name, wait, rates, levels)", "outputs": [], "execution_count": None}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell, show]}))


class Field:
    """The folder of a worker, with ways out of it, and what lies outside."""

    def __init__(self, root: pathlib.Path):
        self.jobs, self.folder, self.outside = root / "jobs", root / "folder", root / "outside"
        for path in (self.folder / "sub", self.folder / "mod", self.outside / "mod"):
            path.mkdir(parents=True)
        notebook(self.folder / "good.ipynb")
        notebook(self.folder / "sub/other.ipynb")
        notebook(self.outside / "far.ipynb")
        (self.outside / "secret.csv").write_text(f"x,{SECRET}\n1,a\n2,b\n")
        (self.folder / "points.csv").write_text("x,side\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)))
        for where in (self.folder / "mod", self.outside / "mod"):
            (where / "go.mod").write_text("module example.com/m\n\ngo 1.26\n")
            (where / "m.go").write_text(f'package m\n\nimport "os"\n\nfunc Run() error {{ return os.WriteFile({json.dumps(str(self.canary))}, nil, 0o600) }}\n')
        for name, to in {"out-dir": self.outside, "sub/up": "../..", "far.ipynb": self.outside / "far.ipynb", "secret.csv": self.outside / "secret.csv", "new.ipynb": self.outside / "new.ipynb",
                         "linkmod": self.outside / "mod", "loop.ipynb": "loop.ipynb", "chain": "out-dir"}.items():
            (self.folder / name).symlink_to(to)
        for name in ("pipe.ipynb", "pipe.csv", "pipe.go"):
            os.mkfifo(self.folder / name)
        self.before = self.seen()

    @property
    def canary(self) -> pathlib.Path:
        return self.outside.parent / "pwned"

    def seen(self) -> dict[str, bytes]:
        """Return all that no job may change: what is outside, and what a person has put into the folder."""
        found = {}
        for top in (self.outside, self.folder):
            for path in sorted(top.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    found[str(path)] = path.read_bytes()
        return found


def expressions(canary: pathlib.Path) -> list[str]:
    write = f"os.WriteFile({json.dumps(str(canary))}, nil, 0o600)"
    return [
        f"func() int {{ {write}; return 1 }}()", f"1; {write}", f"1\n{write}", f'"+func() string {{ {write}; return "" }}()+"', f'"\n{write}\n_ = "', f"`+func() string {{ {write}; return `` }}()+`",
        f"must(0, {write})", f"1 /* */ + len(fmt.Sprint({write}))", f"!touch {canary}", f'x"\n!touch {canary}', f'x"\n%%sql\n!touch {canary}', "\\", '\\"', "\u2028!ls", "\ufeff", "x?", "%reset -f", f"// \r{write}",
    ]


class Hostile:
    """Makes bodies of jobs at random."""

    def __init__(self, field: Field, seed: int):
        self.field, self.random, self.code = field, random.Random(seed), expressions(field.canary)
        self.runs = 8  # kernels that texts may start: each takes seconds

    def pick(self, *of):
        return self.random.choice(of)

    def path(self, end: str) -> str:
        outside = str(self.field.outside)
        return self.pick(f"../outside/far{end}", f"{outside}/far{end}", f"out-dir/far{end}", f"chain/far{end}", f"sub/up/outside/far{end}", f"far{end}", f"pipe{end}", f"loop{end}", f"sub/../../outside/far{end}",
                         f"good{end}/x{end}", f"none\x00{end}", f"{'x' * 300}{end}", f"sub/./../out-dir/far{end}")

    def out(self, end: str) -> str:
        return self.pick(self.path(end), f"good{end}", f"sub/other{end}", f"new{end}", f"out-dir/new{end}", f".git/hooks/x{end}", f".cancha/written/x{end}", "points.csv", "mod/m.go", "mod/x.go", "mod", "secret.csv")

    def body(self) -> dict:
        kind = self.pick("notebook", "notebook", "notebook", "stream_query", "go_function", "forest_fit")
        return {"job_type": kind, "max_attempts": 3, "timeout": 60, "parameters": getattr(self, kind)()}

    def notebook(self) -> dict:
        how = self.random.random()
        if how < 0.1 and self.runs > 0:  # a text goes through, as a text
            self.runs -= 1
            code = self.random.choice(self.code)
            return {"path": "good.ipynb", "parameters": self.pick({"name": code}, {"levels": {code: 1}}), "out": f"out/{self.runs}.ipynb"}
        if how < 0.6:
            name = self.pick("n", "wait", "rates", "levels", self.random.choice(self.code))
            code = self.random.choice(self.code)
            return {"path": "good.ipynb", "parameters": {name: self.pick(code, [code], {"a": code}, [1, code], 1e300, 1.5, 10**400, True, [[[]]], {code: code})}}
        if how < 0.8:
            return {"path": self.path(".ipynb"), "parameters": {}}
        return {"path": "good.ipynb", "out": self.out(".ipynb")}

    def stream_query(self) -> dict:
        if self.random.random() < 0.5:
            return {"path": "good.ipynb", "parameters": {"n": self.random.choice(self.code)}}
        return {"path": self.path(self.pick(".ipynb", ".go"))}

    def go_function(self) -> dict:
        code = self.random.choice(self.code)
        return self.pick({"module": "linkmod", "function": "Run"}, {"module": "out-dir/mod", "function": "Run"}, {"module": "..", "function": "Run"}, {"module": str(self.field.outside / "mod"), "function": "Run"},
                         {"module": "mod", "function": code}, {"module": "mod", "package": code, "function": "Run"}, {"module": "mod", "package": "../linkmod", "function": "Run"}, {"module": "", "function": "Run"},
                         {"module": code, "function": "Run"})

    def forest_fit(self) -> dict:
        if self.random.random() < 0.5:
            return {"data": self.pick(self.path(".csv"), "secret.csv", "out-dir/secret.csv", "../outside/secret.csv", "pipe.csv", "."), "label": "side", "n_estimators": 2}
        return {"data": "points.csv", "label": "side", "n_estimators": 2, "out": self.out(".forest")}


class Site:
    """A scheduler and a worker."""

    def __init__(self, cancha: str, field: Field):
        self.field, self.said = field, (field.jobs.parent / "said").open("w+")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("RABBITMQ", "CANCHA_JOBS"))} | {"CANCHA_JOBS": str(field.jobs)}
        self.scheduler = self.start(cancha, "scheduler", "-http", "127.0.0.1:0", out=subprocess.PIPE)
        line = next((line for line in self.scheduler.stdout if "page, API" in line), "")
        self.address = re.search(r"http://\S+?/", line)[0]
        self.token = (field.jobs / "token").read_text().strip()
        if self.token in line:
            raise SystemExit("FAILED: the scheduler's log has the token")
        self.worker = self.start(cancha, "worker", "-folder", str(field.folder), "-slots", "2")

    def start(self, *args, out=None) -> subprocess.Popen:
        return subprocess.Popen(args, env=self.env, stdout=out or self.said, stderr=self.said, text=True, cwd=self.field.jobs.parent)

    def ask(self, path: str, body: dict | None = None, token: str | None = None):
        request = urllib.request.Request(self.address + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
        if token is None:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as failed:
            return failed.code, json.loads(failed.read() or b"{}")

    def ended(self, name: str, until: float) -> dict:
        while True:
            status, job = self.ask("jobs/" + name)
            if status == 200 and job["state"] in ENDED:
                return job
            if time.monotonic() > until:
                return job | {"state": f"{job.get('state', status)}, and has not ended"}
            time.sleep(0.1)

    def close(self):
        for process in (self.worker, self.scheduler):
            process.terminate()
        for process in (self.worker, self.scheduler):
            try:
                process.wait(timeout=90)
            except subprocess.TimeoutExpired:
                process.kill()


def stranger(site: Site) -> list[str]:
    """As another account: return what it was let do."""
    pid = os.fork()
    if pid:
        return [] if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else ["another account was let in (see above)"]
    faults = []
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        for path in (site.field.jobs / name for name in ("token", "queues.db", "store/jobs.db")):
            try:
                path.read_bytes()
                faults.append(f"it reads {path}")
            except OSError:
                pass
        for path, body in (("jobs", {"job_type": "notebook"}), ("jobs", None), ("jobs/x/cancel", {}), ("metrics", None), ("", None)):
            status, _ = site.ask(path, body, token="")
            if status != 403:
                faults.append(f"/{path} answers it {status}")
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(str(site.field.jobs / "socket"))
                faults.append("it connects to the socket")
            except OSError:
                pass
    finally:
        for fault in faults:
            print("  another account:", fault, flush=True)
        os._exit(1 if faults else 0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cancha", default="bin/cancha")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)  # another account comes as far as the folder of the jobs
        field = Field(pathlib.Path(root))
        site = Site(str(pathlib.Path(args.cancha).resolve()), field)
        try:
            faults += trial(site, field, Hostile(field, args.seed), args.jobs)
        finally:
            site.close()
        if faults:
            site.said.seek(0)
            print(site.said.read()[-4000:])
    for fault in faults:
        print("FAILED:", fault)
    print(f"hostile jobs: {args.jobs}, seed {args.seed}: {'nothing has happened' if not faults else f'{len(faults)} faults'}")
    return 1 if faults else 0


def trial(site: Site, field: Field, hostile: Hostile, count: int) -> list[str]:
    faults, bodies = [], {f"h{i}": hostile.body() for i in range(count)}
    if os.geteuid() == 0:
        faults += stranger(site)
    if (status := site.ask("jobs", {"job_type": "notebook", "job_id": "no-token"}, token="")[0]) != 403:
        faults.append(f"a submission without the token: {status}")
    for name, body in bodies.items():
        status, answer = site.ask("jobs", body | {"job_id": name})
        if status != 202:
            faults.append(f"{body}: {status} {answer}")
    until, states = time.monotonic() + PATIENCE, {}
    for name, body in bodies.items():
        job = site.ended(name, until)
        states[job["state"]] = states.get(job["state"], 0) + 1
        if job["state"] not in ("failed", "completed"):
            faults.append(f"{json.dumps(body)}: {job['state']}: {job.get('error')}")
        if job["state"] == "completed" and body["job_type"] != "forest_fit" and not str(body["parameters"].get("out")).startswith("out/"):
            faults.append(f"{json.dumps(body)}: it was run: {job.get('result')}")
        if SECRET in json.dumps(job):
            faults.append(f"{json.dumps(body)}: the outside stands in {job}")
    print(f"  {count} hostile jobs: {', '.join(f'{n} {state}' for state, n in sorted(states.items()))}")
    if field.canary.exists():
        faults.append("an expression has run")
    now = field.seen()
    faults += [f"{path} is {'gone' if path not in now else 'another one'}" for path, text in field.before.items() if now.get(path) != text]
    faults += [f"{path} is new" for path in now if path not in field.before and path.startswith(str(field.outside))]
    site.ask("jobs", {"job_type": "matrix_multiply", "job_id": "after", "parameters": {"size": 100}})
    if (last := site.ended("after", time.monotonic() + PATIENCE))["state"] != "completed":
        faults.append(f"the worker does not go on: {last['state']}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
