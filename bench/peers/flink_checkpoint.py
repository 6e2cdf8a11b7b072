"""Runs sums by key, without checkpoints and with one each second, in turns with ours, on Flink's local cluster: state in RocksDB, checkpoints incremental and
exactly once.

    flink_checkpoint.py --jar flink-sql-connector-kafka-….jar --brokers HOST:PORT --topic TOPIC --events N --folder DIR --rows DIR --ours COMMAND [--turns 5]

All of Flink's turns run in one JVM, which a turn with checkpoints warms that is not measured: its rows go to DIR/sums as CSV. A line of JSON a turn, of ours too."""
import argparse
import gc
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.request

from flink import environment, sink
from meter import Meter

COLUMNS = "k BIGINT, n BIGINT, total DOUBLE, least DOUBLE, greatest DOUBLE, middle DOUBLE"
SUMS = """SELECT `key`, COUNT(*), SUM(x), MIN(x), MAX(x), AVG(x)
    FROM TABLE(TUMBLE(TABLE keyed, DESCRIPTOR(`at`), INTERVAL '100' DAY(3))) GROUP BY `key`, window_start, window_end"""


class Watcher:
    """Asks a job's cluster for its checkpoints, five times a second: it is gone when the job is."""

    def __init__(self, port: int):
        self.port, self.seen, self.pause, self.over = port, {}, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.over.wait(0.2):
            try:
                self.look()
            except OSError:  # not yet, or no longer
                pass

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/jobs{path}", timeout=2) as answer:
            return json.load(answer)

    def look(self):
        for job in self.get("")["jobs"]:
            before, self.seen = self.seen, self.get(f"/{job['id']}/checkpoints")
            latest = self.seen["latest"]["completed"]
            if latest and latest != (before and before["latest"]["completed"]):
                self.detail(f"/{job['id']}/checkpoints/details/{latest['id']}")

    def detail(self, checkpoint: str):
        """Notes for how long a checkpoint stopped a subtask: its synchronous part, and that it waited for barriers."""
        for vertex in self.get(checkpoint)["tasks"]:
            summary = self.get(f"{checkpoint}/subtasks/{vertex}")["summary"]
            self.pause = max(self.pause, summary["checkpoint_duration"]["sync"]["max"] + summary["alignment"]["duration"]["max"])

    def end(self) -> dict:
        self.over.set()
        self.thread.join()
        last = self.seen and self.seen["latest"]["completed"]
        if not last:
            return {"checkpoints": 0}
        done, summary, size = self.seen["counts"]["completed"], self.seen["summary"], self.seen["summary"]["checkpointed_size"]
        return {"checkpoints": done, "checkpoint_bytes": int(float(size["p50"])), "written_bytes": done * size["avg"], "state": last["state_size"],
                "pause_ms": self.pause, "longest_ms": summary["end_to_end_duration"]["max"], "failed_checkpoints": self.seen["counts"]["failed"]}


def free() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def settings(port: int, folder: str) -> dict:
    """Return the settings of a turn: with checkpoints if a folder for them is named."""
    values = {"rest.bind-port": str(port), "state.backend.type": "rocksdb"}
    if folder:
        values |= {"execution.checkpointing.interval": "1 s", "execution.checkpointing.mode": "EXACTLY_ONCE", "execution.checkpointing.incremental": "true",
                   "execution.checkpointing.dir": "file://" + folder}
    return values


def turn(args, meter: Meter, folder: str, rows: str, **more):
    """Runs the query once and prints its line; nothing of a turn whose rows are kept."""
    env, port = environment(args), free()
    for key, value in settings(port, folder).items():
        env.get_config().set(key, value)
    sink(env, "sums", COLUMNS, rows)
    meter.start()
    watcher = Watcher(port)
    result = env.execute_sql(f"INSERT INTO sums {SUMS}")
    result.wait()
    net = result.get_job_client().get_job_execution_result().result().get_net_runtime() / 1000
    seen = watcher.end()
    if not rows:
        meter.say("flink", "with" if folder else "without", args.events, job_seconds=net, **seen, **more)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--jar", required=True)
    ap.add_argument("--brokers", required=True)
    ap.add_argument("--topic", required=True)
    ap.add_argument("--events", type=int, required=True, help="how many the topic has")
    ap.add_argument("--folder", required=True, help="for checkpoints")
    ap.add_argument("--ours", required=True, help="command, to which -checkpoint and sums are added")
    ap.add_argument("--turns", type=int, default=5)
    ap.add_argument("--parallelism", default="2")
    ap.add_argument("--rows", required=True)
    args = ap.parse_args()
    gc.disable()  # see flink.py
    meter, folder = Meter(), tempfile.mkdtemp(prefix="flink-", dir=os.path.abspath(args.folder))
    try:
        turn(args, meter, folder, args.rows)
        for i in range(args.turns):
            for kept in [], ["-checkpoint", folder]:
                subprocess.run([*shlex.split(args.ours), *kept, "sums"], check=True)
            turn(args, meter, "", "", turn=i)
            turn(args, meter, folder, "", turn=i)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
