"""Runs the minute statistics, or queries of Nexmark, on Flink's local cluster: streaming SQL from a topic of Kafka up to its present end.

    flink.py --jar flink-sql-connector-kafka-….jar --brokers HOST:PORT --topic TOPIC [--queries minutes | q0,q1,…] [--turns 2] [--parallelism 2] [--rows DIR]

All queries run in one JVM, each --turns times: the first turn of all warms it. A line of JSON a turn. With --rows the rows go to
DIR/QUERY_rows as CSV, once, in a turn more that is not measured; else they are thrown away (connector blackhole)."""
import argparse
import gc
import os

from meter import Meter, failed

os.environ["_python_worker_execution_mode"] = "process"  # else a Python server listens on every address
from pyflink.table import EnvironmentSettings, TableEnvironment  # noqa: E402

WIDE = "INTERVAL '10' SECOND"
BID = "auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP_LTZ(3)"
COUNTS = f"""SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, {WIDE})) GROUP BY auction, window_start, window_end"""

# name: columns of the rows, SQL
NEXMARK = {
    "q0": (BID, "SELECT auction, bidder, price, ts FROM bid"),
    "q1": (BID.replace("price BIGINT", "price DOUBLE"), "SELECT auction, bidder, 0.908E0 * price, ts FROM bid"),
    "q2": ("auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": ("name STRING, city STRING, state STRING, auction BIGINT",
           """SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id
              WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')"""),
    "q4": ("category BIGINT, final BIGINT, PRIMARY KEY (category) NOT ENFORCED",
           """SELECT Q.category, AVG(Q.final) FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
              WHERE A.id = B.auction AND B.ts BETWEEN A.ts AND A.expires GROUP BY A.id, A.category) Q GROUP BY Q.category"""),
    "q5": ("auction BIGINT, num BIGINT",
           f"""SELECT A.auction, A.num FROM ({COUNTS}) A JOIN (
                 SELECT MAX(num) AS maxn, window_start, window_end FROM ({COUNTS}) GROUP BY window_start, window_end) M
               ON A.window_start = M.window_start AND A.window_end = M.window_end AND A.num >= M.maxn"""),
    "q7": (BID, f"""SELECT B.auction, B.price, B.bidder, B.ts FROM bid B JOIN (
                      SELECT MAX(price) AS highest, window_time AS closes FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), {WIDE}))
                      GROUP BY window_start, window_end, window_time) W
                    ON B.price = W.highest AND B.ts BETWEEN W.closes - INTERVAL '9.999' SECOND AND W.closes"""),
    "q8": ("id BIGINT, name STRING, window_start TIMESTAMP(3)",
           f"""SELECT P.id, P.name, P.window_start FROM (
                 SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(ts), {WIDE}))
                 GROUP BY id, name, window_start, window_end) P
               JOIN (SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(ts), {WIDE}))
                 GROUP BY seller, window_start, window_end) A
               ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end"""),
    "q11": ("bidder BIGINT, bid_count BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3)",
            f"""SELECT bidder, COUNT(*), window_start, window_end FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), {WIDE}))
                GROUP BY bidder, window_start, window_end"""),
    "q12": ("bidder BIGINT, bid_count BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3)",
            f"""SELECT bidder, COUNT(*), window_start, window_end FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(p_time), {WIDE}))
                GROUP BY bidder, window_start, window_end"""),
    "q13": (BID + ", side STRING",
            """SELECT B.auction, B.bidder, B.price, B.ts, S.side FROM (SELECT *, MOD(auction, 10000) AS side_key FROM bid) B
               JOIN side_table FOR SYSTEM_TIME AS OF B.ts AS S ON B.side_key = S.key"""),
}

# Where Nexmark's table is looked up in a database by the clock, here it is a versioned table with one version before all events.
SIDE = """CREATE TABLE side_table (key BIGINT, side AS 'value-' || CAST(key AS STRING),
    since AS TO_TIMESTAMP_LTZ(0, 3), WATERMARK FOR since AS since, PRIMARY KEY (key) NOT ENFORCED)
    WITH ('connector' = 'datagen', 'rows-per-second' = '1000000000', 'fields.key.kind' = 'sequence', 'fields.key.start' = '0', 'fields.key.end' = '9999')"""

EVENT = """CREATE TABLE event (kind INT, id BIGINT, name STRING, city STRING, state STRING, ts TIMESTAMP_LTZ(3), expires TIMESTAMP_LTZ(3),
    seller BIGINT, category BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, p_time AS PROCTIME(),
    WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) WITH ({kafka})"""

VIEWS = {
    "person": "SELECT id, name, city, state, ts FROM event WHERE kind = 0",
    "auction": "SELECT id, seller, category, ts, expires FROM event WHERE kind = 1",
    "bid": "SELECT auction, bidder, price, ts, p_time FROM event WHERE kind = 2",
    "passage": """SELECT event.match_id AS m, event.team.id AS t, event.location[1] AS x, event.location[2] AS y, ts
                  FROM match_event WHERE event.team.id IS NOT NULL""",
}

MATCH_EVENT = """CREATE TABLE match_event (event ROW<match_id BIGINT, team ROW<id BIGINT>, location ARRAY<DOUBLE>>,
    metadata ROW<event_time TIMESTAMP_LTZ(3)>, ts AS metadata.event_time, WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) WITH ({kafka})"""

KEYED = """CREATE TABLE keyed (`key` BIGINT, x DOUBLE, `at` TIMESTAMP_LTZ(3), WATERMARK FOR `at` AS `at` - INTERVAL '30' SECOND) WITH ({kafka})"""

MINUTES = {
    "minutes": ("m BIGINT, t BIGINT, w TIMESTAMP(3), n BIGINT, x0 DOUBLE, x1 DOUBLE, x2 DOUBLE, x3 DOUBLE, y0 DOUBLE, y1 DOUBLE, y2 DOUBLE, y3 DOUBLE",
                """SELECT m, t, window_start, COUNT(*), MIN(x), MAX(x), AVG(x), VAR_SAMP(x), MIN(y), MAX(y), AVG(y), VAR_SAMP(y)
                   FROM TABLE(TUMBLE(TABLE passage, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY m, t, window_start, window_end"""),
}
QUERIES = NEXMARK | MINUTES


def environment(args) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
            "pipeline.jars": "file://" + os.path.abspath(args.jar), "parallelism.default": args.parallelism, "pipeline.object-reuse": "true",
            "table.local-time-zone": "UTC", "taskmanager.memory.managed.size": "512m", "rest.bind-address": "127.0.0.1",
            "rest.address": "127.0.0.1", "jobmanager.bind-host": "127.0.0.1", "taskmanager.bind-host": "127.0.0.1"}.items():
        env.get_config().set(key, value)
    kafka = f"""'connector' = 'kafka', 'topic' = '{args.topic}', 'properties.bootstrap.servers' = '{args.brokers}', 'properties.group.id' = 'flink',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"""
    for table in EVENT, MATCH_EVENT, KEYED:
        env.execute_sql(table.format(kafka=kafka))
    env.execute_sql(SIDE)
    for name, sql in VIEWS.items():
        env.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {sql}")
    return env


def sink(env, name: str, columns: str, rows: str):
    where = f"'connector' = 'filesystem', 'path' = 'file://{os.path.abspath(rows)}/{name}', 'format' = 'csv'" if rows else "'connector' = 'blackhole'"
    env.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({where})")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--jar", required=True)
    ap.add_argument("--brokers", required=True)
    ap.add_argument("--topic", required=True)
    ap.add_argument("--events", type=int, required=True, help="how many the topic has")
    ap.add_argument("--queries", default=",".join(NEXMARK))
    ap.add_argument("--turns", type=int, default=2)
    ap.add_argument("--parallelism", default="2")
    ap.add_argument("--rows", default="")
    args = ap.parse_args()
    gc.disable()  # in the meter's thread it lets go of Java's objects by another connection, and Flink plans only in the thread of the first
    meter, env = Meter(), environment(args)
    for name in args.queries.split(","):
        columns, sql = QUERIES[name]
        try:
            sink(env, name, columns, "")
            for turn in range(args.turns):
                meter.start()
                result = env.execute_sql(f"INSERT INTO {name} {sql}")
                result.wait()
                net = result.get_job_client().get_job_execution_result().result().get_net_runtime() / 1000
                meter.say("flink", name, args.events, turn=turn, job_seconds=net)
            if args.rows:
                sink(env, name + "_rows", columns, args.rows)
                env.execute_sql(f"INSERT INTO {name}_rows {sql}").wait()
        except Exception as error:  # what one query cannot do says nothing of the next
            failed("flink", name, error)


if __name__ == "__main__":
    main()
