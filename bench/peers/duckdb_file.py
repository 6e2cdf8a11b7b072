"""Computes the minute statistics with DuckDB from a file of JSON lines.

    duckdb_file.py --file FILE --events N [--threads 2] [--turns 2] [--rows DIR]"""
import argparse

import duckdb

from meter import Meter

COLUMNS = "{event: 'STRUCT(match_id BIGINT, team STRUCT(id BIGINT), location DOUBLE[])', metadata: 'STRUCT(event_time TIMESTAMP)'}"
SQL = """SELECT event.match_id m, event.team.id t, time_bucket(INTERVAL 1 MINUTE, metadata.event_time) AS start, count(*) n,
    min(event.location[1]) x0, max(event.location[1]) x1, avg(event.location[1]) x2, var_samp(event.location[1]) x3,
    min(event.location[2]) y0, max(event.location[2]) y1, avg(event.location[2]) y2, var_samp(event.location[2]) y3
    FROM read_json('{file}', format = 'newline_delimited', columns = {columns}) WHERE event.team.id IS NOT NULL GROUP BY ALL"""


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--file", required=True)
    ap.add_argument("--events", type=int, required=True)
    ap.add_argument("--threads", default="2")
    ap.add_argument("--turns", type=int, default=2)
    ap.add_argument("--rows", default="")
    args = ap.parse_args()
    meter, c = Meter(), duckdb.connect()
    c.execute(f"SET threads = {args.threads}; SET preserve_insertion_order = false; SET TimeZone = 'UTC'")
    for turn in range(args.turns):
        meter.start()
        c.execute("CREATE OR REPLACE TABLE r AS " + SQL.format(file=args.file, columns=COLUMNS))
        meter.say("duckdb", "minutes", args.events, turn=turn, rows=c.execute("SELECT count(*) FROM r").fetchone()[0])
    if args.rows:
        c.execute(f"COPY r TO '{args.rows}/minutes-duckdb.csv' (HEADER false)")


if __name__ == "__main__":
    main()
