"""Computes the one-minute statistics of a topic anew, in Python and straight from its records, and compares a windows.csv.

    python check_windows.py --brokers HOST:PORT [--topic T] [--records N] windows.csv

Nothing is shared with the Go code but the definitions: sums are exact (math.fsum), the variance takes two passes over the
values of a window. Counts must be equal. Every other number may be off by 1e-9 of itself, or by 1e-9 where it is smaller
than one: yards, square yards or a share. What is absent must be absent in both. Exit 1 on any difference.

The records must be those of one "cancha producer". Besides the windows the records are checked: kick-off, the lengths of
the periods before and the event's own timestamp give event_time, with one kick-off a match, on a whole minute; each partition
is in the order of event time, ties by match and index, so that no event is there twice.
"""
import argparse
import collections
import csv
import datetime
import json
import math
import sys

import kafka

MINUTE = 60_000  # milliseconds
TOLERANCE = 1e-9
PASS, CARRY = 30, 43
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MEASURES = ("pass_length", "carry_distance", "x", "y")
KEYS = ("match_id", "team_id", "window_start")
COUNTS = {"events", "passes", *(f"{name}_count" for name in MEASURES)}
COLUMNS = (*KEYS, "events", "passes",
           *(f"{name}_{part}" for name in MEASURES for part in ("count", "min", "max", "mean", "var")), "possession")


class Window:
    """What one team did in one minute of one match."""

    def __init__(self):
        self.events = self.passes = 0
        self.values = {name: [] for name in MEASURES}


def records(brokers: str, topic: str):
    """Yield (partition, offset, key, value) of each record that the topic holds now, partition by partition."""
    consumer = kafka.KafkaConsumer(bootstrap_servers=brokers.split(","), enable_auto_commit=False, check_crcs=False,
                                   max_partition_fetch_bytes=8 << 20, fetch_max_bytes=8 << 20)
    try:
        numbers = consumer.partitions_for_topic(topic)
        if not numbers:
            sys.exit(f"{brokers} has no topic {topic}")
        for number in sorted(numbers):
            partition = kafka.TopicPartition(topic, number)
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            end = consumer.end_offsets([partition])[partition]
            while consumer.position(partition) < end:
                for batch in consumer.poll(timeout_ms=1000).values():
                    for record in batch:
                        if record.offset < end:
                            yield number, record.offset, record.key, record.value
    finally:
        consumer.close()


def milliseconds(text: str) -> int:
    """Return an RFC 3339 time as milliseconds since the epoch."""
    span = datetime.datetime.fromisoformat(text) - EPOCH
    return span // datetime.timedelta(milliseconds=1)


def clock(text: str) -> int:
    """Return an event's timestamp, 00:12:34.567, in milliseconds."""
    hours, minutes, seconds = text.split(":")
    whole, _, part = seconds.partition(".")
    return (int(hours) * 60 + int(minutes)) * MINUTE + int(whole) * 1000 + int(part.ljust(3, "0")[:3])


def identity(value) -> int | None:
    """Return the id of a reference such as {"id": 217, "name": "Barcelona"}, None if there is none."""
    return value.get("id") if isinstance(value, dict) else None


def distance(start, end) -> list[float]:
    """Return the distance between two places on the pitch in yards as a list of one, or of none if a place is missing."""
    if not start or not end:
        return []
    return [math.hypot(end[0] - start[0], end[1] - start[1])]


class Statistics:
    """The windows of a topic, and what its event times say of its matches."""

    def __init__(self):
        self.windows = collections.defaultdict(Window)
        self.possession = collections.defaultdict(collections.Counter)  # (match, minute) -> team -> events
        self.times = collections.defaultdict(list)  # match -> (period, timestamp, event time)
        self.last = {}  # partition -> (event time, match, index)
        self.disorder = []
        self.read = 0

    def add(self, partition: int, key: bytes, value: bytes):
        """Take one record."""
        self.read += 1
        record = json.loads(value)
        event, at = record["event"], milliseconds(record["metadata"]["event_time"])
        match, period, team = event["match_id"], event["period"], identity(event.get("team"))
        if int(key) != match:
            raise ValueError(f"key {key!r} is not match {match}")
        self.times[match].append((period, clock(event["timestamp"]), at))
        here, before = (at, match, event["index"]), self.last.get(partition)
        if before is not None and here <= before:
            self.disorder.append(f"partition {partition}: (event time, match, index) {here} after {before}")
        self.last[partition] = here
        if not 1 <= period <= 5 or team is None:
            return
        minute = at // MINUTE
        possessing = identity(event.get("possession_team"))
        if possessing is not None:
            self.possession[match, minute][possessing] += 1
        self.count(self.windows[match, team, minute], event)

    @staticmethod
    def count(window: Window, event: dict):
        kind, place = identity(event["type"]), event.get("location")
        window.events += 1
        if kind == PASS:
            window.passes += 1
            window.values["pass_length"] += distance(place, event.get("pass", {}).get("end_location"))
        if kind == CARRY:
            window.values["carry_distance"] += distance(place, event.get("carry", {}).get("end_location"))
        if place:
            window.values["x"].append(place[0])
            window.values["y"].append(place[1])

    def total(self, name: str) -> int:
        """Return how many values a measure has in all windows."""
        return sum(len(window.values[name]) for window in self.windows.values())

    def rows(self) -> dict:
        """Return each row's columns by its keys; None is absent."""
        table = {}
        for (match, team, minute), window in self.windows.items():
            row = {"events": window.events, "passes": window.passes}
            for name, values in window.values.items():
                row |= {f"{name}_{part}": number for part, number in summary(values).items()}
            teams = self.possession[match, minute]
            row["possession"] = teams[team] / teams.total() if teams else None
            table[match, team, minute * MINUTE] = row
        return table

    def kickoffs(self) -> list[str]:
        """Return what is wrong with the event times."""
        faults = []
        for match, times in self.times.items():
            longest = collections.Counter()
            for period, stamp, _ in times:
                longest[period] = max(longest[period], stamp)
            offset = {period: sum(longest[before] for before in range(1, period)) for period in longest}
            starts = {at - offset[period] - stamp for period, stamp, at in times}
            if len(starts) != 1 or min(starts) % MINUTE:
                faults.append(f"match {match} has {len(starts)} kick-offs, the first {min(starts)} ms after the epoch")
        return faults


def summary(values: list[float]) -> dict:
    """Return count, least, greatest, mean and sample variance."""
    n = len(values)
    if n == 0:
        return {"count": 0, "min": None, "max": None, "mean": None, "var": None}
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    return {"count": n, "min": min(values), "max": max(values), "mean": mean, "var": squares / (n - 1) if n > 1 else None}


class Comparison:
    """How far a file is from what was computed."""

    def __init__(self):
        self.faults = []
        self.numbers = collections.Counter()
        self.greatest = (0.0, "")

    def row(self, keys: tuple, want: dict, got: dict):
        for column, expected in want.items():
            text = got[column]
            where = f"match {keys[0]} team {keys[1]} minute {keys[2]} {column}"
            if expected is None or text == "":
                if expected is not None or text != "":
                    self.faults.append(f"{where}: got {text or 'nothing'}, want {expected}")
                self.numbers["absent"] += 1
            elif column in COUNTS:
                if text != str(expected):
                    self.faults.append(f"{where}: got {text}, want {expected}")
                self.numbers["counts"] += 1
            else:
                self.near(where, float(text), expected)

    def near(self, where: str, got: float, want: float):
        off = abs(got - want) / max(1.0, abs(want))
        if not off <= TOLERANCE:  # a NaN is no number of ours either
            self.faults.append(f"{where}: got {got}, want {want}")
        self.numbers["other numbers"] += 1
        self.greatest = max(self.greatest, (off, where))


def compare(path: str, want: dict) -> Comparison:
    """Compare a file's rows, which must come in the order of their keys, with the rows wanted."""
    result, previous = Comparison(), None
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            sys.exit(f"{path}: got columns {reader.fieldnames}, want {list(COLUMNS)}")
        for line in reader:
            keys = int(line["match_id"]), int(line["team_id"]), milliseconds(line["window_start"])
            if previous is not None and keys <= previous:
                result.faults.append(f"row {line} comes after {previous}")
            previous = keys
            row = want.pop(keys, None)
            if row is None:
                result.faults.append(f"no such row: {line}")
            else:
                result.row((keys[0], keys[1], line["window_start"]), row, line)
                result.numbers["rows"] += 1
    result.faults += [f"row missing: {keys}" for keys in want]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", default="statsbomb-360-events")
    parser.add_argument("--records", type=int, help="how many records the topic must hold")
    parser.add_argument("windows")
    options = parser.parse_args()

    statistics = Statistics()
    for partition, offset, key, value in records(options.brokers, options.topic):
        try:
            statistics.add(partition, key, value)
        except (KeyError, TypeError, ValueError) as error:
            sys.exit(f"partition {partition} offset {offset} is no record of the producer: {error!r}")
    if not statistics.read:
        sys.exit(f"{options.topic} at {options.brokers} is empty: nothing to compare")
    result = compare(options.windows, statistics.rows())
    result.faults += statistics.kickoffs() + statistics.disorder
    if options.records is not None and statistics.read != options.records:
        result.faults.append(f"the topic holds {statistics.read} records, want {options.records}")

    print(f"{statistics.read:,} records of {len(statistics.times)} matches, {statistics.total('pass_length'):,} passes and "
          f"{statistics.total('carry_distance'):,} carries with both places")
    print(", ".join(f"{number:,} {name}" for name, number in sorted(result.numbers.items())) + " compared")
    print(f"greatest difference {result.greatest[0]:.3g} ({result.greatest[1]}), allowed {TOLERANCE:g}; relative above 1, else absolute")
    for fault in result.faults[:20]:
        print("DIFFERS", fault)
    print("windows.csv is right" if not result.faults else f"{len(result.faults)} differences")
    return 1 if result.faults else 0


if __name__ == "__main__":
    sys.exit(main())
