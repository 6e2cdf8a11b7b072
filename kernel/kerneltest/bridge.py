"""Lends libzmq's sockets to the suite: opens, feeds and reads pyzmq sockets as told on standard input.

Both directions carry records: the length of what follows, a socket's number, an operation, the number of frames (32 bits
each, big-endian), then for each frame its length and its bytes.

    in    1 open    a JSON object: type, address, options (of libzmq, by name), topic of a subscriber, paused
          2 send    the frames of a message
          3 close
    out   2 message the frames of a message
          4 failed  why, as text; the socket is of no further use

A paused socket is not read: what arrives stays with libzmq. The end of standard input ends the program.
"""
import json
import os
import struct
import sys

import zmq

OPEN, SEND, CLOSE, FAILED = 1, 2, 3, 4
HEAD = struct.Struct(">III")
SIZE = struct.Struct(">I")
BURST = 256  # messages read from one socket before the others have their turn


class Bridge:
    def __init__(self):
        self.context = zmq.Context()
        self.poller = zmq.Poller()
        self.poller.register(0, zmq.POLLIN)
        self.sockets = {}  # number -> socket
        self.numbers = {}  # socket -> number
        self.buffer = bytearray()

    def serve(self):
        while True:
            for socket, _ in self.poller.poll():
                if socket == 0:
                    if not self.read_commands():
                        return
                elif socket in self.numbers:  # it may have been closed by a command just now
                    self.relay(socket)

    def read_commands(self) -> bool:
        read = os.read(0, 1 << 20)
        self.buffer += read
        while len(self.buffer) >= SIZE.size:
            length, = SIZE.unpack_from(self.buffer)
            if len(self.buffer) < SIZE.size + length:
                break
            record = bytes(self.buffer[SIZE.size:SIZE.size + length])
            del self.buffer[:SIZE.size + length]
            self.command(record)
        return bool(read)

    def command(self, record: bytes):
        number, operation, count = HEAD.unpack_from(record)
        frames, at = [], HEAD.size
        for _ in range(count):
            length, = SIZE.unpack_from(record, at)
            at += SIZE.size
            frames.append(record[at:at + length])
            at += length
        try:
            if operation == OPEN:
                self.open(number, json.loads(frames[0]))
            elif operation == SEND:
                self.sockets[number].send_multipart(frames)
            elif operation == CLOSE:
                self.close(number)
        except (zmq.ZMQError, KeyError) as error:
            say(number, FAILED, [f"{type(error).__name__}: {error}".encode()])

    def open(self, number: int, wanted: dict):
        socket = self.context.socket(getattr(zmq, wanted["type"]))
        self.sockets[number], self.numbers[socket] = socket, number
        for name, value in {"LINGER": 500, "RECONNECT_IVL": 10, **wanted.get("options", {})}.items():
            socket.setsockopt(getattr(zmq, name), value.encode() if isinstance(value, str) else value)
        if wanted["type"] == "SUB":
            socket.setsockopt(zmq.SUBSCRIBE, wanted.get("topic", "").encode())
        socket.connect(wanted["address"])
        if not wanted.get("paused"):
            self.poller.register(socket, zmq.POLLIN)

    def close(self, number: int):
        socket = self.sockets.pop(number)
        del self.numbers[socket]
        if socket in self.poller:
            self.poller.unregister(socket)
        socket.close()

    def relay(self, socket):
        for _ in range(BURST):
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:  # nothing more, or a REQ that has its answer
                return
            say(self.numbers[socket], SEND, frames)


def say(number: int, operation: int, frames: list[bytes]):
    body = [HEAD.pack(number, operation, len(frames))]
    for frame in frames:
        body += SIZE.pack(len(frame)), frame
    record = b"".join(body)
    sys.stdout.buffer.write(SIZE.pack(len(record)) + record)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    Bridge().serve()
