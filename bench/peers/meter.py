"""Processor time and memory of this process and all that it starts, and the line that each peer prints: a JSON object that table.py reads."""
import json
import threading
import time

import psutil


class Meter:
    """Measures from start to say. Processes that end in between count up to when they were last seen, at most 0.2 s before."""

    def __init__(self):
        self.cpu, self.peak, self.lock = {}, 0, threading.Lock()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            self.look()
            time.sleep(0.2)

    def look(self) -> float:
        """Return the processor seconds so far."""
        me, resident = psutil.Process(), 0
        for process in [me, *me.children(recursive=True)]:
            try:
                times = process.cpu_times()
                self.cpu[process.pid] = times.user + times.system
                resident += process.memory_info().rss
            except psutil.NoSuchProcess:
                pass
        with self.lock:
            self.peak = max(self.peak, resident)
        return sum(self.cpu.values())

    def start(self):
        self.before = self.look()
        with self.lock:
            self.peak = 0
        self.began = time.perf_counter()

    def say(self, engine: str, query: str, events: int, **more):
        seconds = time.perf_counter() - self.began
        cpu = self.look() - self.before
        print(json.dumps({"engine": engine, "query": query, "events": events, "seconds": round(seconds, 3), "cpu_seconds": round(cpu, 2),
                          "resident": self.peak} | more), flush=True)


def failed(engine: str, query: str, error: Exception):
    """Prints that a query cannot be run by an engine, and why."""
    reason = " ".join(str(error).split())
    print(json.dumps({"engine": engine, "query": query, "failed": reason[:600]}), flush=True)
