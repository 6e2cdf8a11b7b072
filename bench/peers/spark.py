"""Runs the minute statistics, or queries of Nexmark, on Spark local[2]: structured streaming from a topic of Kafka up to its present end.

    spark.py --jars DIR --brokers HOST:PORT --topic TOPIC --events N [--queries minutes | q0,q1,…] [--turns 1] [--batch 200000] [--rows DIR]

All queries run in one JVM. A line of JSON a turn; a query that Spark's streams cannot express is reported with Spark's own reason.
With --rows the rows go to DIR/QUERY as CSV; without it they are thrown away (format noop)."""
import argparse
import glob
import json
import os
import shutil
import sys
import tempfile

from meter import Meter, failed

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession, functions as F  # noqa: E402

EVENT = """kind INT, id BIGINT, name STRING, city STRING, state STRING, ts TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT,
    auction BIGINT, bidder BIGINT, price BIGINT"""
MATCH_EVENT = "event STRUCT<match_id: BIGINT, team: STRUCT<id: BIGINT>, location: ARRAY<DOUBLE>>, metadata STRUCT<event_time: TIMESTAMP>"
WIDE = "10 seconds"


class Topic:
    """The topic as streams of rows; each call reads it anew."""

    def __init__(self, spark, args):
        self.spark, self.args = spark, args

    def rows(self, schema: str):
        raw = (self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.args.brokers).option("subscribe", self.args.topic)
               .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self.args.batch).load())
        return raw.select(F.from_json(F.col("value").cast("string"), schema).alias("e"))

    def events(self, kind: int):
        return self.rows(EVENT).select("e.*").where(F.col("kind") == kind).withWatermark("ts", "4 seconds")

    def persons(self):
        return self.events(0).select("id", "name", "city", "state", "ts")

    def auctions(self):
        return self.events(1).select("id", "seller", "category", "ts", "expires")

    def bids(self):
        return self.events(2).select("auction", "bidder", "price", "ts")

    def matches(self):
        return (self.rows(MATCH_EVENT).selectExpr("e.event.match_id m", "e.event.team.id t", "e.metadata.event_time ts", "e.event.location[0] x",
                                                  "e.event.location[1] y").where("t IS NOT NULL").withWatermark("ts", "30 seconds"))


def q3(t: Topic):
    auctions = t.auctions().where("category = 10").selectExpr("id auction", "seller")
    persons = t.persons().where("state IN ('OR', 'ID', 'CA')").select("id", "name", "city", "state")
    return auctions.join(persons, F.expr("seller = id")).select("name", "city", "state", "auction")


def q4(t: Topic):
    auctions = t.auctions().withColumnRenamed("ts", "opens")
    final = (auctions.join(t.bids(), F.expr("id = auction AND ts BETWEEN opens AND expires AND ts < opens + INTERVAL 1 MINUTE"))
             .groupBy("id", "category").agg(F.max("price").alias("final")))
    return final.groupBy("category").agg(F.avg("final"))


def q5(t: Topic):
    def counts():
        return t.bids().groupBy("auction", F.window("ts", WIDE, "2 seconds").alias("w")).agg(F.count("*").alias("num"))
    most = counts().groupBy("w").agg(F.max("num").alias("maxn"))
    each = counts().withColumnRenamed("w", "v")
    return each.join(most, F.expr("v = w AND num >= maxn")).select("auction", "num")


def q7(t: Topic):
    highest = (t.bids().groupBy(F.window("ts", WIDE).alias("window")).agg(F.max("price").alias("highest"))
               .select("highest", F.window_time("window").alias("at")))
    return t.bids().join(highest, F.expr(f"price = highest AND ts > at - INTERVAL {WIDE} AND ts <= at")).select("auction", "price", "bidder", "ts")


def q8(t: Topic):
    persons = t.persons().groupBy("id", "name", F.window("ts", WIDE).alias("w")).count().select("id", "name", "w")
    sellers = t.auctions().groupBy("seller", F.window("ts", WIDE).alias("v")).count().select("seller", "v")
    return persons.join(sellers, F.expr("id = seller AND w = v")).selectExpr("id", "name", "w.start window_start")


def windows(rows, by: str, window):
    return rows.groupBy(by, window.alias("w")).agg(F.count("*").alias("bid_count")).selectExpr(by, "bid_count", "w.start", "w.end")


def q13(t: Topic):
    side = t.spark.range(10000).selectExpr("id key", "concat('value-', id) side")
    return t.bids().join(F.broadcast(side), F.expr("auction % 10000 = key")).select("auction", "bidder", "price", "ts", "side")


def minutes(t: Topic):
    columns = [f(c).alias(f"{c}{i}") for c in "xy" for i, f in enumerate((F.min, F.max, F.avg, F.var_samp))]
    rows = t.matches().groupBy("m", "t", F.window("ts", "1 minute").alias("w")).agg(F.count("*").alias("n"), *columns)
    return rows.selectExpr("m", "t", "w.start start", "n", "x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3")


NEXMARK = {
    "q0": lambda t: t.bids(),
    "q1": lambda t: t.bids().withColumn("price", F.col("price") * 0.908),
    "q2": lambda t: t.bids().where("auction % 123 = 0").select("auction", "price"),
    "q3": q3, "q4": q4, "q5": q5, "q7": q7, "q8": q8,
    "q11": lambda t: windows(t.bids(), "bidder", F.session_window("ts", WIDE)),
    "q12": lambda t: windows(t.bids().withColumn("at", F.current_timestamp()), "bidder", F.window("at", WIDE)),
    "q13": q13,
}
QUERIES = NEXMARK | {"minutes": minutes}
UPDATE = {"q12"}  # its windows have no watermark


def session(args):
    spark = SparkSession.builder.master("local[2]").config("spark.jars", ",".join(glob.glob(os.path.join(args.jars, "*.jar"))))
    for key, value in {"driver.memory": "4g", "driver.bindAddress": "127.0.0.1", "driver.host": "127.0.0.1", "ui.enabled": "false",
                       "ui.showConsoleProgress": "false", "sql.shuffle.partitions": "4", "sql.session.timeZone": "UTC"}.items():
        spark = spark.config("spark." + key, value)
    spark = spark.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run(name: str, topic: Topic, rows: str) -> dict:
    """Runs a query to the end of the topic, with its rows into a folder, if one is named; returns how many records it read and what it dropped."""
    checkpoint = tempfile.mkdtemp(prefix="checkpoint")
    try:
        writer = (QUERIES[name](topic).writeStream.outputMode("update" if name in UPDATE else "append")
                  .option("checkpointLocation", checkpoint).trigger(availableNow=True))
        writer = writer.format("csv").option("path", os.path.join(rows, name)) if rows else writer.format("noop")
        query = writer.start()
        query.awaitTermination()
        reports = [json.loads(p.json) if hasattr(p, "json") else dict(p) for p in query.recentProgress]
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    operators = [o for p in reports for o in p.get("stateOperators", [])]
    return {"records": sum(p["numInputRows"] for p in reports), "batches": len(reports), "late": sum(o.get("numRowsDroppedByWatermark", 0) for o in operators)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--jars", required=True)
    ap.add_argument("--brokers", required=True)
    ap.add_argument("--topic", required=True)
    ap.add_argument("--events", type=int, required=True, help="how many the topic has")
    ap.add_argument("--queries", default=",".join(NEXMARK))
    ap.add_argument("--turns", type=int, default=1)
    ap.add_argument("--batch", type=int, default=200_000, help="records of a batch")
    ap.add_argument("--rows", default="")
    args = ap.parse_args()
    meter, spark = Meter(), session(args)
    for name in args.queries.split(","):
        try:
            for turn in range(args.turns):
                meter.start()
                more = run(name, Topic(spark, args), "")
                meter.say("spark", name, args.events, turn=turn, **more)
            if args.rows and name not in UPDATE:
                run(name, Topic(spark, args), args.rows)
        except Exception as error:  # what one query cannot do says nothing of the next
            failed("spark", name, error)
    spark.stop()


if __name__ == "__main__":
    main()
