"""Runs cells that print and show a lot through a Jupyter Server with its default limits, as JupyterLab does.

    python server_limits.py [--kernel cancha] [NAME ...]

The server drops output above 1,000 messages or 1 MB of stream a second (ZMQChannelsWebsocketConnection), and says so in the
cell. Here nothing may be dropped: each cell's output is read from the server's websocket and compared with what it printed, byte
by byte and display by display. Exit 1 if anything is missing, out of order, or said to be dropped.
"""
import argparse
import asyncio
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

from tornado.websocket import websocket_connect

PROTOCOL = "v1.kernel.websocket.jupyter.org"  # what JupyterLab 4 asks for
PATIENCE = 120


class Session:
    """A kernel behind the server's websocket."""

    def __init__(self, connection):
        self.socket = connection
        self.id = uuid.uuid4().hex

    async def send(self, channel, kind, content):
        header = {"msg_id": uuid.uuid4().hex, "session": self.id, "username": "", "date": time.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                  "msg_type": kind, "version": "5.4"}
        parts = [channel.encode(), *(json.dumps(p).encode() for p in (header, {}, {}, content))]
        offsets, at = [], 8 * (len(parts) + 2)
        for part in parts:
            offsets.append(at)
            at += len(part)
        offsets.append(at)
        await self.socket.write_message(struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts), binary=True)
        return header["msg_id"]

    async def receive(self):
        raw = await asyncio.wait_for(self.socket.read_message(), PATIENCE)
        if raw is None:
            raise EOFError("the server has closed the connection")
        (count,) = struct.unpack_from("<Q", raw)
        offsets = struct.unpack_from(f"<{count}Q", raw, 8)
        channel = raw[offsets[0]:offsets[1]].decode()
        header, parent, _, content = (json.loads(raw[offsets[i]:offsets[i + 1]]) for i in range(1, 5))
        return channel, header, parent, content

    async def run(self, code, during=None):
        """Run a cell; return its reply, what was published for it with the seconds since it was sent, and the seconds in all."""
        begin = time.monotonic()
        parent = await self.send("shell", "execute_request", {"code": code, "silent": False, "store_history": True,
                                                              "user_expressions": {}, "allow_stdin": False, "stop_on_error": True})
        reply, published, idle = None, [], False
        while reply is None or not idle:
            channel, header, of, content = await self.receive()
            if of.get("msg_id") != parent:
                continue
            if channel == "shell":
                reply = content
                continue
            published.append((time.monotonic() - begin, header["msg_type"], content))
            idle = idle or header["msg_type"] == "status" and content["execution_state"] == "idle"
            if during:
                await during(time.monotonic() - begin, published)
        return reply, published, time.monotonic() - begin


def text(published, name="stdout"):
    return "".join(c["text"] for _, kind, c in published if kind == "stream" and c["name"] == name)


def of(published, kind):
    return [c for _, k, c in published if k == kind]


def of_stream(published):
    return [p for p in published if p[1] == "stream"]


def lines(count, width=100):
    return "".join(f"{i:0{width - 1}d}\n" for i in range(count))


def printing(count, width=100):
    return f'for i := range {count} {{\n\tfmt.Printf("%0{width - 1}d\\n", i)\n}}'


def faults(reply, published, wanted=None):
    if reply["status"] != "ok":
        yield f"status {reply['status']}: {reply.get('evalue')}"
    for _, kind, content in published:
        if kind == "stream" and "exceeded" in content["text"]:
            yield "the server has dropped output: " + content["text"].strip().splitlines()[0]
    if published[-1][1] != "status":
        yield "the idle status is not the last message"
    got = text(published)
    if wanted is not None and got != wanted:
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        yield f"{len(got)} bytes came of {len(wanted)}, and differ from byte {at} on"


async def burst(session):
    await session.run(printing(25_000))  # builds the cell, which is then kept
    reply, published, took = await session.run(printing(25_000))
    yield summary(published, took, 2.5)
    first, last = of_stream(published)[0][0], of_stream(published)[-1][0]
    if last - first > 2:
        yield f"WRONG: it was slowed: {last - first:.1f} s from the first message to the last"
    for f in faults(reply, published, lines(25_000)):
        yield "WRONG: " + f


async def ten_megabytes(session):
    reply, published, took = await session.run(printing(100_000))
    yield summary(published, took, 10)
    for f in faults(reply, published, lines(100_000)):
        yield "WRONG: " + f


async def quotes(session):
    """What takes six bytes on the wire for each that was printed."""
    reply, published, took = await session.run('for range 10_000 {\n\tfmt.Println(strings.Repeat("<", 99))\n}')
    yield summary(published, took, 1)
    for f in faults(reply, published, ("<" * 99 + "\n") * 10_000):
        yield "WRONG: " + f


async def written_below(session):
    """Output that the kernel finds in the pipe of file descriptor 1."""
    code = 'block := bytes.Repeat([]byte("0123456789abcde\\n"), 1024)\nfor range 320 {\n\tfor rest := block; len(rest) > 0; {\n\t\tn, err := syscall.Write(1, rest)\n\t\tif err != nil {\n\t\t\tpanic(err)\n\t\t}\n\t\trest = rest[n:]\n\t}\n}'
    reply, published, took = await session.run(code)
    yield summary(published, took, 5.2)
    for f in faults(reply, published, "0123456789abcde\n" * (1024 * 320)):
        yield "WRONG: " + f


async def displays(session):
    reply, published, took = await session.run('for i := range 5_000 {\n\tdisplay.Show(i)\n}')
    shown = [c["data"]["text/plain"] for c in of(published, "display_data")]
    yield f"{len(shown)} displays in {took:.1f} s"
    if shown != [str(i) for i in range(5_000)]:
        yield f"WRONG: {len(shown)} displays came of 5000, or not in order"
    for f in faults(reply, published):
        yield "WRONG: " + f


async def updates(session):
    reply, published, took = await session.run('display.ShowAs("d", "begin")\nfor i := range 50_000 {\n\tdisplay.Update("d", i)\n}')
    seen = [int(c["data"]["text/plain"]) for c in of(published, "update_display_data")]
    yield f"{len(seen)} of 50,000 updates were sent, in {took:.1f} s"
    if not seen or seen[-1] != 49_999 or seen != sorted(seen):
        yield f"WRONG: the last update seen is {seen[-1:]}"
    for f in faults(reply, published):
        yield "WRONG: " + f


async def animation(session):
    reply, published, took = await session.run('for i := range 3_000 {\n\tdisplay.Clear(true)\n\tdisplay.Show(i)\n}')
    kinds = [k for _, k, _ in published if k in ("clear_output", "display_data")]
    yield f"{len(kinds) // 2} frames in {took:.1f} s"
    if kinds != ["clear_output", "display_data"] * 3_000:
        yield f"WRONG: {len(kinds)} messages came of 6000, or not in pairs"
    for f in faults(reply, published):
        yield "WRONG: " + f


async def large_display(session):
    reply, published, took = await session.run('display.Show(display.HTML(strings.Repeat("x", 20<<20)))')
    sizes = [len(c["data"].get("text/html", "")) for c in of(published, "display_data")]
    yield f"20 MB in {took:.1f} s"
    if sizes != [20 << 20]:
        yield f"WRONG: displays of {sizes} bytes"
    for f in faults(reply, published):
        yield "WRONG: " + f


async def interrupted(session):
    times = []
    for _ in range(3):
        sent = []

        async def interrupt(after, published):
            if not sent and sum(len(c["text"]) for c in of(published, "stream")) > 3_500_000:  # the burst is through: the writer is slowed
                sent.append(time.monotonic())
                await session.send("control", "interrupt_request", {})

        reply, published, _ = await session.run('for {\n\tfmt.Println("output without an end, a line of it")\n}', interrupt)
        times.append(1000 * (time.monotonic() - sent[0]))
        if reply.get("ename") != "interrupted":
            yield f"WRONG: the reply is {reply}"
        reply["status"] = "ok"
        for f in faults(reply, published):
            yield "WRONG: " + f
    yield "interrupt to idle: " + ", ".join(f"{t:.0f}" for t in times) + " ms"
    if min(times) > 100:
        yield "WRONG: they took more than 100 ms"


async def asked_meanwhile(session):
    """Questions beside a cell whose output is slowed are answered at once."""
    times, sent = [], {}

    async def ask(after, published):
        if after > 4 and not sent:
            sent["id"] = await session.send("control", "kernel_info_request", {})
            sent["at"] = time.monotonic()

    session_receive = session.receive

    async def receive():
        message = await session_receive()
        if message[2].get("msg_id") == sent.get("id") and message[1]["msg_type"] == "kernel_info_reply":
            times.append(time.monotonic() - sent["at"])
        return message

    session.receive = receive
    reply, published, took = await session.run(printing(60_000), ask)
    session.receive = session_receive
    yield f"a question was answered after {1000 * times[0]:.0f} ms" if times else "WRONG: no answer came"
    if times and times[0] > 0.5:
        yield "WRONG: it took more than half a second"
    for f in faults(reply, published, lines(60_000)):
        yield "WRONG: " + f


async def too_much(session):
    reply, published, took = await session.run(printing(400_000))
    whole, got, said = lines(400_000), text(published), text(published, "stderr")
    yield summary(published, took, 40)
    where = re.search(r"(\d+) bytes of output are left out here, from byte (\d+) of (\d+) on. The whole is in (.*)\.\]", said)
    if not where:
        yield f"WRONG: it is not said what is left out: {said[:300]!r}"
        return
    yield "said: " + said.strip().splitlines()[-1]
    out, at = int(where[1]), int(where[2])
    if got != whole[:at] + whole[at + out:] or len(got) > 20_000_000:
        yield f"WRONG: {len(got)} bytes came, which are not the beginning and the end"
    kept = pathlib.Path(where[4])
    if kept.read_text() != whole:
        yield f"WRONG: {kept} has {kept.stat().st_size} bytes, not the whole"
    if kept.stat().st_mode & 0o077:
        yield f"WRONG: {kept} is not private"
    kept.unlink()
    for f in faults(reply, published):
        yield "WRONG: " + f


def summary(published, took, megabytes):
    return f"{megabytes} MB in {took:.1f} s, {len(of(published, 'stream'))} messages"


CASES = [burst, ten_megabytes, quotes, written_below, displays, updates, animation, large_display, interrupted, asked_meanwhile, too_much]
IMPORTS = 'import (\n\t"bytes"\n\t"syscall"\n\t"cancha/runtime/display"\n)'


async def main(options):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    token = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        log = open(os.path.join(folder, "server.log"), "w+")
        server = subprocess.Popen([sys.executable, "-m", "jupyter_server", "--no-browser", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
                                   f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--allow-root"],
                                  stdout=log, stderr=subprocess.STDOUT, env=os.environ | {"JUPYTER_CONFIG_DIR": folder, "JUPYTER_RUNTIME_DIR": folder})
        try:
            wrong = await cases(options, f"127.0.0.1:{port}", token)
        finally:
            server.terminate()
            server.wait()
            log.seek(0)
            dropped = [line for line in log if "exceeded" in line]
            log.close()
    for line in dropped:
        print("WRONG: the server says:", line.strip())
    return bool(wrong or dropped)


async def cases(options, at, token):
    def ask(method, path, body=None):
        request = urllib.request.Request(f"http://{at}/api/{path}", method=method, data=body and json.dumps(body).encode(),
                                         headers={"Authorization": f"token {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    for _ in range(300):
        try:
            ask("GET", "status")
            break
        except OSError:
            await asyncio.sleep(0.1)
    kernel = await asyncio.to_thread(ask, "POST", "kernels", {"name": options.kernel})
    wrong = False
    try:
        connection = await websocket_connect(f"ws://{at}/api/kernels/{kernel['id']}/channels?token={token}", subprotocols=[PROTOCOL], max_message_size=1 << 30)
        session = Session(connection)
        reply, _, _ = await session.run(IMPORTS)
        if reply["status"] != "ok":
            print("WRONG:", reply)
            return True
        for case in CASES:
            name = case.__name__.replace("_", " ")
            if options.names and name not in options.names:
                continue
            async for line in case(session):
                print(f"{name}: {line}", flush=True)
                wrong = wrong or "WRONG" in line
        connection.close()
    finally:
        await asyncio.to_thread(ask, "DELETE", f"kernels/{kernel['id']}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="cancha")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"cases to run, of: {', '.join(case.__name__.replace('_', ' ') for case in CASES)}")
    sys.exit(asyncio.run(main(parser.parse_args())))
