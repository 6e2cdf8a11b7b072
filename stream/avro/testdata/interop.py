"""Writes interop.json: records that fastavro has encoded, and what a query must read in them.

    pip install fastavro==1.13.1
    python3 interop.py > interop.json

What is wanted is computed here from the values that were encoded, never by the code under test.
"""

import base64
import datetime
import decimal
import io
import json
import struct
import uuid

import fastavro

SCHEMA = {
    "type": "record", "name": "Order", "namespace": "shop", "doc": "all types",
    "fields": [
        {"name": "nothing", "type": "null"},
        {"name": "paid", "type": "boolean"},
        {"name": "small", "type": "int"},
        {"name": "large", "type": "long"},
        {"name": "single", "type": "float"},
        {"name": "total", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "note", "type": "string"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 3}},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"]}},
        {"name": "user", "type": {"type": "record", "name": "User", "fields": [
            {"name": "name", "type": "string"},
            {"name": "city", "type": ["null", "string"], "default": None},
        ]}},
        {"name": "payer", "type": ["null", "User"]},
        {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
            {"name": "sku", "type": "string"},
            {"name": "n", "type": "int"},
        ]}}},
        {"name": "labels", "type": {"type": "map", "values": "long"}},
        {"name": "mixed", "type": ["null", "long", "string", "Item"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "clock6", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "at3", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "at6", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "at9", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "count", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 0}},
        {"name": "exact", "type": {"type": "fixed", "name": "Exact", "size": 12, "logicalType": "decimal", "precision": 25, "scale": 5}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "key", "type": {"type": "fixed", "name": "Key", "size": 16, "logicalType": "uuid"}},
        {"name": "span", "type": {"type": "fixed", "name": "Span", "size": 12, "logicalType": "duration"}},
        {"name": "chain", "type": ["null", {"type": "record", "name": "Link", "fields": [
            {"name": "value", "type": "int"},
            {"name": "next", "type": ["null", "Link"]},
        ]}]},
        {"name": "matrix", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
    ],
}

UTC = datetime.timezone.utc


def first():
    return {
        "nothing": None, "paid": True, "small": -7, "large": 2**53 + 1, "single": 0.5, "total": 12.25, "raw": b"\x00\xffab", "note": "Tee ☕ \"x\"",
        "hash": b"\x01\x02\x03", "status": "PAID", "user": {"name": "Ana", "city": "Lima"}, "payer": None,
        "items": [{"sku": "tea", "n": 2}, {"sku": "mug", "n": 1}], "labels": {"a.b": 3, "c": -1}, "mixed": 5,
        "day": datetime.date(2026, 3, 1), "clock": datetime.time(12, 30, 1, 250000), "clock6": datetime.time(0, 0, 2, 500000),
        "at3": datetime.datetime(2026, 3, 1, 12, 0, 5, 123000, UTC), "at6": datetime.datetime(2026, 3, 1, 12, 0, 5, 123456, UTC),
        "at9": 1_772_366_405_123_456_789, "local": datetime.datetime(2026, 3, 1, 12, 0, 5),
        "price": decimal.Decimal("-12.30"), "count": decimal.Decimal("123456789012"), "exact": decimal.Decimal("12345678901234567890.12345"),
        "id": uuid.UUID("12345678-1234-5678-1234-567812345678"), "key": uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes,
        "span": struct.pack("<III", 1, 2, 3004), "chain": {"value": 1, "next": {"value": 2, "next": None}}, "matrix": [[1, 2], [], [3]],
    }


def second():
    r = first()
    r.update({
        "paid": False, "small": 2**31 - 1, "large": -2**63, "single": -1.5, "total": 1e-7, "raw": b"", "note": "", "status": "SENT",
        "user": {"name": "Ben", "city": None}, "payer": {"name": "Eva", "city": "Quito"}, "items": [], "labels": {},
        "mixed": {"sku": "pot", "n": 9}, "day": datetime.date(1969, 12, 31), "clock": datetime.time(0, 0), "clock6": datetime.time(23, 59, 59, 999999),
        "at3": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), "price": decimal.Decimal("0.01"), "count": decimal.Decimal("-1"),
        "exact": decimal.Decimal("-0.00001"), "span": struct.pack("<III", 0, 0, 0), "chain": None, "matrix": [],
    })
    return r


def third():
    r = first()
    r.update({"mixed": "seven", "items": [{"sku": str(i), "n": i} for i in range(300)], "labels": {str(i): i for i in range(100)}})
    return r


def instant(t, digits):
    text = t.strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{t.microsecond:06d}"[:digits].rstrip("0")
    return text + ("." + fraction if fraction else "") + "Z"


def seconds(t):
    return t.hour * 3600 + t.minute * 60 + t.second + t.microsecond / 1e6


def number(x):
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def wanted(r):
    """What the paths give, as texts; an absent value is the empty one. Paths that give JSON have it as it is."""
    mixed, chain = r["mixed"], r["chain"] or {}
    one = lambda d, *names: "" if not isinstance(d, dict) or d.get(names[0]) is None else str(d[names[0]]) if len(names) == 1 else one(d[names[0]], *names[1:])
    item = lambda i: r["items"][i] if i < len(r["items"]) else {}
    cell = lambda i, k: str(r["matrix"][i][k]) if i < len(r["matrix"]) and k < len(r["matrix"][i]) else ""
    days = r["span"]
    months, day, millis = struct.unpack("<III", days)
    return {
        "nothing": "", "paid": "true" if r["paid"] else "false", "small": str(r["small"]), "large": str(r["large"]), "single": number(r["single"]),
        "total": number(r["total"]), "raw": base64.b64encode(r["raw"]).decode(), "note": r["note"], "hash": base64.b64encode(r["hash"]).decode(),
        "status": r["status"], "user.name": r["user"]["name"], "user.city": r["user"]["city"] or "", "payer.name": one(r["payer"], "name"),
        "payer.city": one(r["payer"], "city"), "items[0].sku": one(item(0), "sku"), "items[1].n": one(item(1), "n"), "items[299].n": one(item(299), "n"),
        "labels[\"a.b\"]": str(r["labels"].get("a.b", "")), "labels.c": str(r["labels"].get("c", "")), "labels[\"99\"]": str(r["labels"].get("99", "")),
        "mixed": json.dumps(mixed, separators=(",", ":")) if isinstance(mixed, dict) else str(mixed), "mixed.n": one(mixed, "n"),
        "day": r["day"].isoformat() + "T00:00:00Z", "clock": number(seconds(r["clock"])), "clock6": number(seconds(r["clock6"])),
        "at3": instant(r["at3"], 3), "at6": instant(r["at6"], 6), "at9": instant(datetime.datetime.fromtimestamp(r["at9"] // 10**9, UTC), 6)[:-1] + f".{r['at9'] % 10**9:09d}Z",
        "local": instant(r["local"], 3), "price": number(float(r["price"])), "count": str(r["count"]),
        "exact": f"{r['exact']:f}", "id": str(r["id"]), "key": str(uuid.UUID(bytes=r["key"])),
        "span": f"P{months}M{day}DT{millis // 1000}" + (f".{millis % 1000:03d}" if millis % 1000 else "") + "S",
        "chain.value": one(chain, "value"), "chain.next.value": one(chain, "next", "value"), "chain.next.next.value": "",
        "matrix[0][1]": cell(0, 1), "matrix[2][0]": cell(2, 0), "matrix[1][0]": "",
        "items": json.dumps(r["items"], separators=(",", ":")), "labels": json.dumps(r["labels"], separators=(",", ":")),
        "user": json.dumps(r["user"], separators=(",", ":")), "chain": json.dumps(r["chain"], separators=(",", ":")) if r["chain"] else "",
        "matrix": json.dumps(r["matrix"], separators=(",", ":")),
    }


def main():
    parsed = fastavro.parse_schema(SCHEMA)
    records = []
    for name, r in (("one", first()), ("two", second()), ("three", third())):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, r)
        records.append({"name": name, "base64": base64.b64encode(out.getvalue()).decode(), "want": wanted(r)})
    print(json.dumps({"writer": "fastavro " + fastavro.__version__, "schema": SCHEMA, "records": records}, indent=1, ensure_ascii=False))


main()
