"""Is hostile to a kernel and a broker for a while, beside a notebook that goes on, and looks at what they hold afterwards.

    python hostile.py [--minutes 1] [--seed N] [--program bin/cancha] [--encrypted]

Strangers come to all ports of a kernel and to a durable broker's, in random order and beside each other: noise, lengths that are lies, large
messages that stop in the middle or are signed with another key, requests that no client sends, many idle connections, bytes one at a time,
handshakes of CURVE that are noise, stop half the way, or repeat what somebody has recorded. With --encrypted the kernel's channels are
encrypted, and half of those who send unsigned messages have its public key.
Meanwhile a producer sends events, and a notebook's query reads them: each second its cell must answer within 10 s, and its count must grow.
At the end both processes must be the same as in the beginning, and within five minutes hold less than 200 MB. Exit 1 if anything is
otherwise.
"""
import argparse
import contextlib
import pathlib
import queue
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import zmq
from jupyter_client.kernelspec import NoSuchKernel

from survive import CURVE, GREETING, NEXT, PORTS, Kernel

MOST = 200  # MB that each process may hold when the strangers have gone
PATIENCE = 300  # seconds until then
LOGS = ("kernel", "broker")
READY = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"

NOTEBOOK = """import (
	"cancha/statsbomb/streaming"
	"cancha/stream/kafka"
)
source := kafka.Source(kafka.Config{Brokers: []string{"127.0.0.1:%d"}, Topic: "statsbomb-360-events"})
running := must(streaming.MinuteStatistics(source).Start(context.Background()))"""


def noise(peer, dice):
    peer.sendall(dice.randbytes(dice.randrange(1, 5000)))


def lie(peer, dice):
    """Announce a length, as Kafka and as ZeroMQ have it, and send little."""
    peer.sendall(dice.choice((b"", GREETING + READY + b"\x02")) + struct.pack(">Q", dice.getrandbits(dice.choice((31, 40, 63)))) + dice.randbytes(200))


def stop_short(peer, dice):
    """Send most of a large message, and no more."""
    size = dice.randrange(20, 150) << 20
    kafka = struct.pack(">i", min(size, 90 << 20)) + b"\0\0\0\x09\0\0\0\1\xff\xff"
    peer.sendall(dice.choice((GREETING + READY + b"\x02" + struct.pack(">Q", size), kafka)))
    for _ in range((size >> 20) - 1):
        peer.sendall(bytes(1 << 20))
    time.sleep(dice.random() * 5)


def trickle(peer, dice):
    for byte in dice.choice((GREETING + READY, CURVE)) + dice.randbytes(20):
        peer.sendall(bytes([byte]))
        time.sleep(0.05)


def request(peer, dice):
    """Send Kafka requests of any kind with any body."""
    for _ in range(50):
        body = struct.pack(">hhih", dice.randrange(-2, 100), dice.randrange(-1, 20), dice.getrandbits(16), dice.choice((-1, 0, 3))) + dice.randbytes(dice.randrange(0, 400))
        peer.sendall(struct.pack(">i", len(body)) + body)
    peer.settimeout(1)
    with contextlib.suppress(TimeoutError):
        peer.recv(1 << 16)


def unsigned(address, dice, server):
    """Send well-formed messages with another key, some of them large, through ZeroMQ."""
    context = zmq.Context()
    with context, context.socket(zmq.DEALER) as peer:
        peer.linger, peer.sndtimeo = 1000, 2000  # not every port answers
        if server and dice.random() < 0.8:
            public, secret = zmq.curve_keypair()
            peer.curve_publickey, peer.curve_secretkey = public, secret
            peer.curve_serverkey = server if dice.random() < 0.6 else public
        peer.connect("tcp://{}:{}".format(*address))
        for _ in range(20):
            content = b'{"code": "' + bytes(dice.choice((10, 10, 10, 5 << 20))).replace(b"\0", b"x") + b'"}'
            peer.send_multipart([b"<IDS|MSG>", b"0" * 64, b'{"msg_id": "x", "msg_type": "execute_request"}', b"{}", b"{}", content])


def idle(address, dice, server):
    """Hold many connections for a while, with a handshake, half of one, or without."""
    hello = recorded(server) if server else b""
    with contextlib.ExitStack() as held:
        for _ in range(300):
            peer = held.enter_context(socket.create_connection(address, timeout=5))
            if dice.random() < 0.7:
                peer.sendall(dice.choice((GREETING + READY, hello or CURVE)))
        time.sleep(dice.random() * 5)


def recorded(server) -> bytes:
    """Return what a client says before its WELCOME, as one who listens on the network would have it."""
    context = zmq.Context()
    with context, context.socket(zmq.DEALER) as client, socket.create_server(("127.0.0.1", 0)) as listener:
        client.linger = 0
        client.curve_publickey, client.curve_secretkey = zmq.curve_keypair()
        client.curve_serverkey = server
        client.connect("tcp://127.0.0.1:%d" % listener.getsockname()[1])
        with listener.accept()[0] as peer:
            peer.settimeout(5)
            peer.sendall(CURVE)
            said = b""
            while len(said) < 64 + 2 + 200:  # its greeting and a HELLO
                said += peer.recv(1 << 10)
            return said


def handshake(peer, dice, server):
    """Begin a handshake of CURVE and go on with nonsense; where there is a key, after a HELLO that was recorded, which is answered."""
    if server:
        peer.sendall(recorded(server))
    else:
        peer.sendall(CURVE + b"\x04\xc8\x05HELLO\x01" + dice.choice((bytes(193), dice.randbytes(193))))
    size = dice.choice((0, 20, 300, 5000, 1 << 40))
    peer.sendall(b"\x06" + struct.pack(">Q", size) + b"\x08INITIATE" + dice.randbytes(min(size, 5000)))
    time.sleep(dice.random())


def stranger(addresses, end, seed, done, server):
    dice = random.Random(seed)
    while time.monotonic() < end:
        address, what = dice.choice(addresses), dice.choice((noise, lie, stop_short, trickle, request, handshake, unsigned, idle))
        with contextlib.suppress(OSError, zmq.ZMQError):
            if what in (unsigned, idle):
                what(address, dice, server)
            elif what is handshake:
                with socket.create_connection(address, timeout=5) as peer:
                    what(peer, dice, server)
            else:
                with socket.create_connection(address, timeout=5) as peer:
                    what(peer, dice)
        done[what.__name__] = done.get(what.__name__, 0) + 1


def megabytes(pid: int) -> int:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) >> 10
    raise ProcessLookupError(pid)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def beside(kernel: Kernel, pids: dict[str, int], end: float) -> list[str]:
    """Run a cell a second until the end, and return what was wrong."""
    faults, slowest, before, peak, minute = [], 0.0, 0, dict.fromkeys(pids, 0), time.monotonic() + 60
    while time.monotonic() < end and len(faults) < 5:
        begin = time.monotonic()
        try:
            status, text = kernel.cell("running.Totals().Records", NEXT)
        except queue.Empty:
            faults.append(f"a cell had no answer within {NEXT} s")
            continue
        slowest = max(slowest, time.monotonic() - begin)
        if status != "ok" or not text.isdecimal() or int(text) < before:
            faults.append(f"the query's count after {before}: {status}, {text}")
        else:
            before = int(text)
        for name, pid in pids.items():
            peak[name] = max(peak[name], megabytes(pid))
        if time.monotonic() > minute:
            minute += 60
            print(f"   {before:,} records; slowest cell {slowest:.2f} s; MB at most " + ", ".join(f"{name} {n}" for name, n in peak.items()), flush=True)
        time.sleep(1)
    if before == 0:
        faults.append("the query has read nothing")
    return faults


def afterwards(kernel: Kernel, broker: subprocess.Popen, pids: dict[str, int]) -> list[str]:
    faults = []
    if broker.poll() is not None:
        faults.append(f"the broker has ended with {broker.returncode}")
    if not kernel.manager.is_alive() or kernel.manager.provisioner.pid != kernel.pid:
        faults.append("the kernel has ended")
    if faults:
        return faults
    begin = time.monotonic()
    while max(held := [megabytes(pid) for pid in pids.values()]) > MOST and time.monotonic() < begin + PATIENCE:
        time.sleep(1)
    print(f"   {time.monotonic() - begin:.0f} s afterwards: MB " + ", ".join(f"{name} {n}" for name, n in zip(pids, held)))
    if max(held) > MOST:
        faults.append(f"MB held: {held}, want at most {MOST}")
    first = int(kernel.cell("running.Totals().Records", NEXT)[1])
    time.sleep(3)
    if int(kernel.cell("running.Totals().Records", NEXT)[1]) <= first:
        faults.append("the query reads no more")
    return faults


@contextlib.contextmanager
def running(*command, **how):
    """Run a program until the end of the block, however that comes."""
    with subprocess.Popen(command, **how) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def session(options, folder: pathlib.Path) -> list[str]:
    try:
        with contextlib.ExitStack() as stack:
            return hostile(options, folder, stack)
    # a process that does not start, has gone, or no longer answers; jupyter_client's RuntimeError says that a kernel is not ready
    except (queue.Empty, OSError, RuntimeError, NoSuchKernel) as error:
        return [f"{type(error).__name__}: {error}"]


def hostile(options, folder: pathlib.Path, stack: contextlib.ExitStack) -> list[str]:
    port = free_port()
    logs = {name: stack.enter_context((folder / f"{name}.log").open("w")) for name in LOGS}
    broker = stack.enter_context(running(options.program, "broker", "-addr", f"127.0.0.1:{port}", "-data", folder / "broker",
                                         stdout=subprocess.PIPE, stderr=logs["broker"]))
    if not broker.stdout.readline():  # it serves
        return ["the broker does not start"]
    stack.enter_context(running(options.program, "producer", "-simulate", "-rate", "200", "-brokers", f"127.0.0.1:{port}",
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    kernel = stack.enter_context(contextlib.closing(Kernel(options.kernel, logs["kernel"], "required" if options.encrypted else "disabled")))
    status, text = kernel.cell(NOTEBOOK % port, 120)
    if status != "ok":
        return [f"the notebook does not begin: {text}"]
    addresses = [kernel.port(name) for name in PORTS] + [("127.0.0.1", port)] * 3
    pids, end, done = {"kernel": kernel.pid, "broker": broker.pid}, time.monotonic() + 60 * options.minutes, {}
    strangers = [threading.Thread(target=stranger, args=(addresses, end, options.seed + i, done, kernel.manager.curve_publickey), daemon=True) for i in range(6)]
    for each in strangers:
        each.start()
    faults = beside(kernel, pids, end)
    for each in strangers:
        each.join()
    print("   " + ", ".join(f"{name} {n}" for name, n in sorted(done.items())))
    return faults + afterwards(kernel, broker, pids)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="cancha")
    parser.add_argument("--program", default="bin/cancha")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--encrypted", action="store_true", help="the kernel's channels are encrypted")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # which ends what was started
    print(f"== {options.minutes:g} minutes, seed {options.seed}" + ", encrypted" * options.encrypted)
    with tempfile.TemporaryDirectory() as folder:
        faults = session(options, pathlib.Path(folder))
        for name in LOGS:
            lines = pathlib.Path(folder, f"{name}.log").read_text(errors="replace").splitlines()
            print(f"== log of the {name}, {len(lines)} lines, the last 3")
            print("\n".join("   " + line[:200] for line in lines[-3:]))
    print("survived all" if not faults else "\n".join("FAILED " + fault for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
