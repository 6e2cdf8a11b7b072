"""Does to a kernel what must not end it, and prints what a user would read each time.

    python survive.py [--kernel cancha]

The cell of a type, run again at random with other methods, which values of earlier cells must then have.
Garbage, silence and heartbeats on each port, then cells that end themselves alone, then cells and a signal that end the engine, the
process that runs cells. After each the next cell must run in the same kernel process, within 10 s, and what ended an engine must be
told in words. Then kernels that
start in poor places: a full disk under the log, a log that nobody reads, no folder to write in. Then what must end: a kernel
whose connection file is of no use, with one line that says why, and all processes of a kernel that is killed. Exit 1 if
anything is otherwise.
"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import jupyter_client
import zmq

PATIENCE = 90  # seconds for a cell that ends its engine
NEXT = 10  # seconds in which the next cell must run
PORTS = ("shell", "iopub", "stdin", "control", "hb")

# A ZMTP 3.0 greeting with the NULL mechanism, as a client sends it first.
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
CURVE = GREETING.replace(b"NULL\0", b"CURVE")
GARBAGE = {
    "nine bytes": b"123456789",
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a greeting cut off": GREETING[:20],
    "a greeting, then noise": GREETING + bytes(range(256)) * 16,
    "CURVE, then noise": CURVE + bytes(range(256)) * 16,
    "a HELLO of zeros": CURVE + b"\x04\xc8\x05HELLO\x01" + bytes(193),
    "an INITIATE first": CURVE + b"\x06" + (300).to_bytes(8, "big") + b"\x08INITIATE" + bytes(291),
    "a frame of 2^63 bytes": GREETING + b"\x04\x19\x05READY" + b"\x02" + b"\x7f" + b"\xff" * 7,
}

# Connection files of no use -> what must be said of them. None: no such file; a folder is a file that cannot be read.
PORTS_IN_FILE = {"key": "a key", "shell_port": 50001, "iopub_port": 50002, "stdin_port": 50003, "control_port": 50004, "hb_port": 50005}
CONNECTIONS = {
    "missing": (None, "no such file"),
    "a folder": (pathlib.Path("/"), "is a directory"),
    "empty": ("", "empty"),
    "broken JSON": ('{"shell_port": 50001, "ip": ', "JSON"),
    "a list": ("[1, 2]", "not an object"),
    "a port in quotes": ('{"shell_port": "50001"}', "shell_port"),
    "without ports": ("{}", "shell_port is 0"),
    "two channels on one port": (json.dumps(PORTS_IN_FILE | {"hb_port": 50001}), "hb_port"),
    "an unknown signature scheme": (json.dumps(PORTS_IN_FILE | {"signature_scheme": "rot13"}), "rot13"),
    "half of CURVE's keys": (json.dumps(PORTS_IN_FILE | {"curve_publickey": "1V][G(}&/D2*VeM1mGVBTj1UyTCz4D!v6[.Rev$0"}), "no curve_secretkey"),
    "keys of CURVE that are none": (json.dumps(PORTS_IN_FILE | {"curve_publickey": "x", "curve_secretkey": "y"}), "40 characters of Z85"),
    "an address that is not ours": (json.dumps(PORTS_IN_FILE | {"ip": "192.0.2.1"}), "cannot assign|can't assign"),
}

# Cells that end their engine -> what their error must say.
FATAL = {
    "syscall.Exit(3)": r"exit\w*.*\b3\b",
    "func down(n int) int { return down(n+1) + 1 }\ndown(0)": r"stack overflow|recursion",
    'go func() { panic("the ball is lost") }()\ntime.Sleep(2 * time.Second)': r"the ball is lost",
}

# Cells that are refused before they run -> what their error must say. Each would wait, fill memory or read what is not its folder's.
REFUSED = {
    '!rm -rf e; mkdir -p e/d; mkfifo e/fifo; ln -s /dev/zero e/zero\n//go:embed e/fifo\nvar fifo string': r"cannot embed irregular file",
    "//go:embed e/zero\nvar zero string": r"cannot embed irregular file",
    "//go:embed e/d\nvar d embed.FS": r"contains no embeddable files",
    "//go:embed /etc/passwd\nvar passwd string": r"invalid pattern syntax",
    "//go:embed missing\nvar missing string": r"no matching files",
    "//go:linkname now runtime.nanotime\nvar now int64": r"cannot have //go:linkname",
}


# Cells that end by os.Exit, or in what a library calls -> what a user reads. The engine lives, and its variables are kept.
NUMBERS = 'stream.From(stream.Memory("m", [][]stream.Record{{{Value: []byte("{\\"id\\":1}")}}}))'
MILD = {
    "os.Exit(3)": r"^exit status 3",
    "os.Exit(0)": r"^exit status 0",
    'log.Fatal("no more")': r"no more[\s\S]*exit status 1",
    'flag.NewFlagSet("x", flag.ExitOnError).Parse([]string{"-zz"})': r"exit status 2",
    "func leave() {\n\tdefer fmt.Println(\"deferred\")\n\tos.Exit(4)\n}\nleave()": r"^exit status 4",
    "go func() { os.Exit(5) }()\nselect {}": r"^exit status 5",
    "sort.Slice([]int{2, 1}, func(i, j int) bool { os.Exit(6); return true })": r"^exit status 6",
    "func bad(r stream.Row) (any, error) { return r.Float(\"amount\"), nil }\nr := must(" + NUMBERS +
    '.MapFunc("x", bad, "id").Select("id", "x").Start(context.Background()))\nr.Wait(context.Background())\nfmt.Println(r.Totals().Bad, r.Results().Len())': r"1 0",
    "func gone(r stream.Row) (any, error) { runtime.Goexit(); return 1, nil }\nmust(" + NUMBERS +
    '.MapFunc("x", gone, "id").Select("id", "x").Start(context.Background())).Wait(context.Background())': r"map x: runtime.Goexit was called",
    "func exits(r stream.Row) (any, error) { os.Exit(7); return 1, nil }\nmust(" + NUMBERS +
    '.MapFunc("x", exits, "id").Select("id", "x").Start(context.Background())).Wait(context.Background())': r"exit status 7",
}


class Kernel:
    """A running kernel, its log and a client."""

    def __init__(self, name: str, log, encryption="disabled", **how):
        self.manager = jupyter_client.KernelManager(kernel_name=name, transport_encryption=encryption)
        self.manager.start_kernel(stderr=log, stdout=log, **how)
        self.client = self.manager.client()
        try:
            self.client.start_channels()
            self.client.wait_for_ready(timeout=30)
        except BaseException:  # nobody has a Kernel to close
            self.client.stop_channels()
            self.manager.shutdown_kernel(now=True)
            raise
        self.pid = self.manager.provisioner.pid

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)

    def port(self, name: str) -> tuple[str, int]:
        return self.manager.ip, getattr(self.manager, name + "_port")

    def engines(self) -> list[int]:
        """Return the processes that the kernel has started."""
        found = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True, check=False)
        return [int(word) for word in found.stdout.split()]

    def begin(self, code: str) -> str:
        return self.client.execute(code)

    def finish(self, request: str, patience: float) -> tuple[str, str]:
        """Return the status of a cell's reply and all that a user sees of it."""
        text, stream, end = [], None, time.monotonic() + patience
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.01, end - time.monotonic()))
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":  # a line may be split over two messages
                text.append(content["text"] if content["name"] == stream else f"[{content['name']}] {content['text']}")
                stream = content["name"]
                continue
            stream = None
            if kind == "error":
                text.append("\n".join(content["traceback"]) or f"{content['ename']}: {content['evalue']}")
            elif kind == "execute_result":
                text.append(content["data"]["text/plain"])
            elif kind == "status" and content["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=max(0.01, end - time.monotonic()))
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]["status"], re.sub(r"\x1b\[[0-9;]*m", "", "".join(text)).rstrip()

    def cell(self, code: str, patience: float) -> tuple[str, str]:
        return self.finish(self.begin(code), patience)


class Trial:
    """Runs the cases and remembers what went wrong."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.faults = []

    def case(self, title: str, text: str = "", want: str = ""):
        """Report a case and run the next cell."""
        print(f"\n== {title}")
        if text:
            print("\n".join("   | " + line for line in text.splitlines()[:14]))
        if not re.search(want, text, re.IGNORECASE):
            self.fault(title, f"what is read does not say {want}")
        begin = time.monotonic()
        try:
            status, said = self.kernel.cell('fmt.Println("still", 1+1)', NEXT)
        except queue.Empty:
            self.fault(title, f"the next cell had no reply in {NEXT} s")
            return
        print(f"   next cell after {time.monotonic() - begin:.2f} s: {status}: " + said.replace("\n", " / "))
        if status != "ok" or "still 2" not in said:
            self.fault(title, "the next cell failed")
        if not self.kernel.manager.is_alive() or self.kernel.manager.provisioner.pid != self.kernel.pid:
            self.fault(title, "the kernel process has ended")

    def fault(self, title: str, what: str):
        print(f"   WRONG: {what}")
        self.faults.append(f"{title}: {what}")


def declared_again(trial: Trial):
    """Run the cells of a type and of a generic type again and again, and ask values of all ages for the methods of now."""
    seed = random.randrange(1 << 32)
    chance, values, said = random.Random(seed), 0, []
    types = {"P": ("type P struct{ N int }", "P{N: %d}", {}), "L[T]": ("type L[T any] struct { N int; v T }", "L[string]{N: %d}", {})}
    run = functools.partial(trial.kernel.cell, patience=PATIENCE)
    run("var all []any")
    ask = "\n".join(f'\tif x, ok := x.(interface{{ {m}() int }}); ok {{\n\t\tfmt.Print("{m}", x.{m}(), " ")\n\t}}' for m in "ABC")
    want = []
    for turn in range(6):
        for receiver, (spec, literal, methods) in types.items():
            methods.clear()
            methods.update({m: chance.randrange(90) for m in "ABC" if chance.random() < .5})
            declared = "\n".join([spec] + [f"func (x {receiver}) {m}() int {{ return x.N + {adds} }}" for m, adds in methods.items()])
            said.append(run(declared))
            said.append(run(f"all = append(all, {literal % (100 * values)})"))
            want.append((100 * values, methods))
            values += 1
        text = "\n".join("".join(f"{m}{n + methods[m]} " for m in "ABC" if m in methods) for n, methods in want)
        got = run(f'for _, x := range all {{\n{ask}\n\tfmt.Println()\n}}')
        said.append(got)
        if got[1].removeprefix("[stdout]").split() != text.split():
            trial.fault(f"types declared again, seed {seed}, turn {turn}", f"got {got}, want {text!r}")
    refused = [text for status, text in said if status != "ok"]
    trial.case(f"two types declared again, six times, with methods at random, seed {seed}", "\n".join(refused) or "all ran", "^all ran$")


def garbage(trial: Trial):
    for what, data in GARBAGE.items():
        for name in PORTS:
            with contextlib.suppress(ConnectionError), socket.create_connection(trial.kernel.port(name), timeout=5) as peer:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
                peer.settimeout(2)
                with contextlib.suppress(TimeoutError):
                    while peer.recv(4096):  # until the kernel has had enough
                        pass
        trial.case(f"{what} on each port")


def silence(trial: Trial):
    with contextlib.ExitStack() as held:
        for name in PORTS:
            held.enter_context(socket.create_connection(trial.kernel.port(name)))
            greeted = held.enter_context(socket.create_connection(trial.kernel.port(name)))
            greeted.sendall(GREETING)
        trial.case("two silent peers on each port, one of which has sent a greeting")
    context = zmq.Context()
    with context, context.socket(zmq.SUB) as deaf:
        deaf.linger, deaf.rcvhwm = 0, 1
        deaf.subscribe(b"")
        deaf.connect("tcp://{}:{}".format(*trial.kernel.port("iopub")))
        deaf.poll(2000)  # until it is subscribed, or has been greeted
        line = "a line of output that nobody at the other end ever reads " * 4
        status, text = trial.kernel.cell(f'for i := 0; i < 50_000; i++ {{\n\tfmt.Println("{line}")\n}}', PATIENCE)
        arrived = f"{text.count(line.rstrip()):,} lines arrived"
        trial.case(f"a subscriber that never reads, and 50,000 lines: {status}", f"{arrived} at the other client", "^50,000 lines")


def beats(trial: Trial):
    """Connect to each port with ZeroMQ's own heartbeats; an unanswered one would end the connection after 500 ms."""
    context, lost = zmq.Context(), []
    with context:
        monitors = {}
        for name in PORTS:
            peer = context.socket(zmq.SUB if name == "iopub" else zmq.REQ if name == "hb" else zmq.DEALER)
            peer.linger, peer.heartbeat_ivl, peer.heartbeat_timeout = 0, 100, 500
            monitors[name] = peer, peer.get_monitor_socket(zmq.EVENT_DISCONNECTED)
            peer.connect("tcp://{}:{}".format(*trial.kernel.port(name)))
        time.sleep(2)  # twenty heartbeats
        for name, (peer, monitor) in monitors.items():
            if monitor.poll(0):
                lost.append(name)
            peer.disable_monitor()
            monitor.close(0)
            peer.close()
    trial.case("ZeroMQ heartbeats, ten a second for two seconds, on each port", f"connections lost: {lost or 'none'}", "none")


def exits(trial: Trial):
    """Run cells that end themselves, in an order of their own each time."""
    seed = random.randrange(1 << 30)
    print(f"\nthe order of seed {seed}")
    trial.kernel.cell('import "cancha/stream"\nkept := 41', PATIENCE)
    engines, cells = trial.kernel.engines(), list(MILD.items())
    random.Random(seed).shuffle(cells)
    for code, want in cells:
        _, text = trial.kernel.cell(code, PATIENCE)
        trial.case(code.replace("\n", "; "), text, want)
        if "deferred" in text.replace('"deferred"', ""):
            trial.fault(code, "a deferred call was run")
        _, said = trial.kernel.cell("kept", NEXT)
        if said != "41" or trial.kernel.engines() != engines:
            trial.fault(code, f"the engine or its variables are gone: {said}")


def death(trial: Trial):
    for code, want in FATAL.items():
        _, text = trial.kernel.cell(code, PATIENCE)
        trial.case(code.replace("\n", "; "), text, want)


def refused(trial: Trial):
    folder = tempfile.mkdtemp()
    trial.kernel.cell(f"%cd {folder}", NEXT)
    for code, want in REFUSED.items():
        _, text = trial.kernel.cell(code, NEXT)
        trial.case(code.replace("\n", "; "), text, want)
    shutil.rmtree(folder)


def kill(trial: Trial):
    trial.kernel.cell("kept := 1", NEXT)
    for engine in trial.kernel.engines():
        os.kill(engine, signal.SIGKILL)
    status, text = trial.kernel.cell('fmt.Println("after the kill")', NEXT)
    trial.case(f"kill -9 of the engine between two cells; the cell after it: {status}", text, r"died|killed|lost")
    request = trial.kernel.begin('fmt.Println("running")\nfor {\n\ttime.Sleep(time.Millisecond)\n}')
    while trial.kernel.client.get_iopub_msg(timeout=NEXT)["msg_type"] != "stream":
        pass
    for engine in trial.kernel.engines():
        os.kill(engine, signal.SIGKILL)
    status, text = trial.kernel.finish(request, NEXT)
    trial.case(f"kill -9 of the engine while a cell runs: {status}", text, r"killed")


def poor_places(name: str, faults: list[str]):
    """Start kernels where nothing can be written, and have each of them log something and run a cell."""
    bare = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")}
    reader, unread = os.pipe()
    os.close(reader)
    for title, log, how in (
        ("the log is on a full disk", os.open("/dev/full", os.O_WRONLY), {}),
        ("the log is a pipe that nobody reads any more", unread, {}),
        ("no HOME, and no folder for temporary files", subprocess.DEVNULL, {"env": bare | {"TMPDIR": "/nonexistent"}}),
    ):
        kernel = Kernel(name, log, **how)
        trial = Trial(kernel)
        with contextlib.suppress(ConnectionError), socket.create_connection(kernel.port("shell"), timeout=5) as peer:
            peer.sendall(GARBAGE["an HTTP request"] * 10)  # is refused, and logged
            peer.settimeout(2)
            with contextlib.suppress(TimeoutError):
                peer.recv(4096)
        _, text = kernel.cell('if err := os.WriteFile("/dev/full", []byte("x"), 0o600); err != nil {\n\tpanic(err)\n}', NEXT)
        trial.case(title + "; a cell that writes to a full disk", text, "no space left")
        faults += trial.faults
        kernel.close()
        if log >= 0:
            os.close(log)


def useless_connections(name: str, faults: list[str]):
    """Start kernels with connection files of no use: each must end with one line that says why."""
    argv = jupyter_client.KernelManager(kernel_name=name).kernel_spec.argv
    folder = jupyter_client.KernelManager(kernel_name=name).kernel_spec.resource_dir
    print("\n== connection files of no use")
    with tempfile.TemporaryDirectory() as there:
        for title, (content, want) in CONNECTIONS.items():
            path = content if isinstance(content, pathlib.Path) else pathlib.Path(there, "connection.json")
            path.unlink(missing_ok=True) if path.parent == pathlib.Path(there) else None
            if isinstance(content, str):
                path.write_text(content)
            command = [word.format(connection_file=path, resource_dir=folder) for word in argv]
            ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=NEXT)
            said = ended.stderr.strip().replace(there + "/", "")
            print(f"   {title}: exit code {ended.returncode}: {said}")
            if ended.returncode == 0 or len(said.splitlines()) != 1 or not re.search(want, said):
                faults.append(f"connection file, {title}: want a failure with one line that says {want}")


def nothing_left(name: str, faults: list[str]):
    """Kill a kernel while a cell runs and has started a process: engine and process must end too."""
    kernel = Kernel(name, subprocess.DEVNULL)
    kernel.begin('child := exec.Command("sleep", "300")\nfmt.Println(child.Start(), os.Getpid(), child.Process.Pid)\nfor {\n}')
    while (message := kernel.client.get_iopub_msg(timeout=NEXT))["msg_type"] != "stream":
        pass
    left = {int(word) for word in re.findall(r"\d+", message["content"]["text"])}
    os.kill(kernel.pid, signal.SIGKILL)
    begin = time.monotonic()
    while left and time.monotonic() - begin < NEXT:
        left = {pid for pid in left if runs(pid)}
        time.sleep(0.01)  # polls
    print(f"\n== kill -9 of the kernel while a cell runs: engine and what it has started are gone after {time.monotonic() - begin:.2f} s")
    for pid in left:
        faults.append(f"kill -9 of the kernel: process {pid} is left")
        os.kill(pid, signal.SIGKILL)
    kernel.client.stop_channels()


def runs(pid: int) -> bool:
    """Report whether a process runs; one that has ended and was not waited for does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="cancha")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "log")
        with path.open("w") as log:
            kernel = Kernel(options.kernel, log)
            trial = Trial(kernel)
            try:
                for step in (declared_again, garbage, silence, beats, refused, exits, death, kill):
                    try:
                        step(trial)
                    except queue.Empty:
                        trial.fault(step.__name__, "no reply from the kernel")
            finally:
                kernel.close()
        lines = path.read_text(errors="replace").splitlines()
        print(f"\n== the kernel's log, {len(lines)} lines, the last 12")
        print("\n".join("   " + line[:200] for line in lines[-12:]))
    faults = trial.faults
    for step in (poor_places, useless_connections, nothing_left):
        try:
            step(options.kernel, faults)
        except (queue.Empty, subprocess.TimeoutExpired) as error:
            faults.append(f"{step.__name__}: {type(error).__name__}: {error}")
    print("\nsurvived all" if not faults else "\n" + "\n".join("FAILED " + fault for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
