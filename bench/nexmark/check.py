"""Computes the queries of Nexmark with DuckDB over files of JSON lines, and compares all rows with those that the command nexmark has written.

    check.py --events FOLDER [--threads 2] [--memory 4GB] [--only q0,q5] FOLDER-OF-ROWS...

A query agrees if both have the same rows, each as often: whole numbers, texts, times and products of one number exactly; a mean, whose sum
and count are exact, to 12 digits. q12 goes by the clock: there the counts must add up to the number of bids. Exit status 1 if a query
differs, with rows that one side alone has."""

import argparse
import json
import os
import sys
import time

import duckdb

EVENT = {
    "kind": "INTEGER", "id": "BIGINT", "name": "VARCHAR", "city": "VARCHAR", "state": "VARCHAR", "ts": "TIMESTAMP",
    "expires": "TIMESTAMP", "seller": "BIGINT", "category": "BIGINT", "auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT",
}
BID = {"auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT", "ts": "TIMESTAMP"}
WINDOW = {"window_start": "TIMESTAMP", "window_end": "TIMESTAMP"}
WIDE = "INTERVAL 10 SECOND"

# Each bid counts once in its span of two seconds; a window is five of them.
COUNTS = """counts AS (
    SELECT auction, span - INTERVAL (2 * i) SECOND AS window_start, CAST(sum(n) AS BIGINT) AS num
    FROM (SELECT auction, time_bucket(INTERVAL 2 SECOND, ts) AS span, count(*) AS n FROM bid GROUP BY ALL), range(5) AS steps(i)
    GROUP BY ALL)"""

Q7 = ({"auction": "BIGINT", "price": "BIGINT", "bidder": "BIGINT", "ts": "TIMESTAMP"},
      f"""SELECT auction, price, bidder, ts FROM bid
          WHERE (time_bucket({WIDE}, ts), price) IN (SELECT time_bucket({WIDE}, ts), max(price) FROM bid GROUP BY 1)""")

# name: columns of the rows, SQL
QUERIES = {
    "q0": (BID, "SELECT auction, bidder, price, ts FROM bid"),
    "q1": (BID | {"price": "DOUBLE"}, "SELECT auction, bidder, CAST(price AS DOUBLE) * CAST(0.908 AS DOUBLE) AS price, ts FROM bid"),
    "q2": ({"auction": "BIGINT", "price": "BIGINT"}, "SELECT auction, price FROM bid WHERE auction % 123 = 0"),
    "q3": ({"name": "VARCHAR", "city": "VARCHAR", "state": "VARCHAR", "auction": "BIGINT"},
           """SELECT p.name, p.city, p.state, a.id AS auction FROM auction a JOIN person p ON a.seller = p.id
              WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')"""),
    "q4": ({"category": "BIGINT", "auctions": "BIGINT", "sum": "BIGINT", "mean": "DOUBLE"},
           """SELECT category, count(*) AS auctions, CAST(sum(final) AS BIGINT) AS sum, sum(final) / count(*) AS mean
              FROM (SELECT max(b.price) AS final, a.category FROM auction a JOIN bid b ON a.id = b.auction
                    WHERE b.ts BETWEEN a.ts AND a.expires GROUP BY a.id, a.category) GROUP BY category"""),
    "q5": ({"auction": "BIGINT", "num": "BIGINT"} | WINDOW,
           f"""WITH {COUNTS} SELECT auction, num, window_start, window_start + {WIDE} AS window_end FROM counts
               WHERE (window_start, num) IN (SELECT window_start, max(num) FROM counts GROUP BY window_start)"""),
    "q7": Q7,
    "q7join": Q7,
    "q8": ({"id": "BIGINT", "name": "VARCHAR", "window_start": "TIMESTAMP"},
           f"""SELECT p.id, p.name, p.w AS window_start FROM (SELECT DISTINCT id, name, time_bucket({WIDE}, ts) AS w FROM person) p
               JOIN (SELECT DISTINCT seller, time_bucket({WIDE}, ts) AS w FROM auction) a ON p.id = a.seller AND p.w = a.w"""),
    "q11": ({"bidder": "BIGINT", "bid_count": "BIGINT"} | WINDOW,
            f"""SELECT bidder, count(*) AS bid_count, min(ts) AS window_start, max(ts) + {WIDE} AS window_end FROM (
                  SELECT bidder, ts, sum(first) OVER (PARTITION BY bidder ORDER BY ts ROWS UNBOUNDED PRECEDING) AS session FROM (
                    SELECT bidder, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY bidder ORDER BY ts) < {WIDE} THEN 0 ELSE 1 END AS first FROM bid))
                GROUP BY bidder, session"""),
    "q12": ({"bidder": "BIGINT", "bid_count": "BIGINT"} | WINDOW, "SELECT count(*) AS n FROM bid"),
    "q13": (BID | {"value": "VARCHAR"},
            """SELECT b.auction, b.bidder, b.price, b.ts, s.value FROM bid b
               JOIN (SELECT range AS key, 'value-' || range AS value FROM range(10000)) s ON b.auction % 10000 = s.key"""),
}


def connect(args):
    c = duckdb.connect()
    c.execute(f"SET threads = {args.threads}; SET memory_limit = '{args.memory}'; SET preserve_insertion_order = false")
    files = os.path.join(args.events, "partition-*.jsonl")
    c.execute(f"CREATE VIEW event AS SELECT * FROM read_json('{files}', format = 'newline_delimited', columns = {json.dumps(EVENT)})")
    for kind, name in enumerate(["person", "auction", "bid"]):
        c.execute(f"CREATE VIEW {name} AS SELECT * FROM event WHERE kind = {kind}")
    return c


def differences(c, name, columns, sql):
    """Rows that one side has more often, with how often: 1 is ours, -1 DuckDB's."""
    if name == "q12":
        return c.execute(f"SELECT 'bids', n, 'counted', m FROM (SELECT CAST(sum(bid_count) AS BIGINT) AS m FROM ours), ({sql}) WHERE n <> m OR m IS NULL").fetchall()
    names = ", ".join(f"round({k}, 12 - CAST(ceil(log10(abs({k}) + 1)) AS INTEGER)) AS {k}" if k == "mean" else k for k in columns)
    return c.execute(f"""SELECT * EXCLUDE (side), sum(side) AS more FROM (SELECT {names}, 1 AS side FROM ours UNION ALL SELECT {names}, -1 AS side FROM theirs)
        GROUP BY ALL HAVING more <> 0 LIMIT 10""").fetchall()


def compare(c, folder, name):
    """How many rows a folder has of a query, and what differs from the table theirs."""
    columns, sql = QUERIES[name]
    rows = os.path.join(folder, name + ".csv")
    c.execute(f"CREATE OR REPLACE TEMP VIEW ours AS SELECT * FROM read_csv('{rows}', header = true, auto_detect = false, delim = ',', quote = '\"', columns = {json.dumps(columns)})")
    return c.execute("SELECT count(*) FROM ours").fetchone()[0], differences(c, name, columns, sql)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--events", required=True)
    ap.add_argument("--threads", default="2")
    ap.add_argument("--memory", default="4GB")
    ap.add_argument("--only", default="")
    ap.add_argument("rows", nargs="+", help="folders that the command nexmark has written")
    args = ap.parse_args()
    c = connect(args)
    wrong = 0
    print(f"DuckDB {duckdb.__version__}, {args.threads} threads, from the files in {args.events}\n{'query':7} {'rows':>10} {'DuckDB s':>9}  rows agree")
    for name in args.only.split(",") if args.only else QUERIES:
        start = time.time()
        c.execute(f"CREATE OR REPLACE TEMP TABLE theirs AS {QUERIES[name][1]}")
        seconds = time.time() - start
        for folder in args.rows:
            n, found = compare(c, folder, name)
            print(f"{name:7} {n:10} {seconds:9.2f}  {'NO' if found else 'yes'}, {folder}", flush=True)
            for row in found:
                print("      one side has", row)
            wrong += bool(found)
        c.execute("DROP TABLE theirs")
    if wrong:
        sys.exit(f"check.py: {wrong} results differ")


if __name__ == "__main__":
    main()
