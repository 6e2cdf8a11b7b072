"""Has Spark ML train forests and trees and save them, for package mllib to read: models.py DIR TREES DEPTH ROWS

In DIR are then NAME, a model's directory, and NAME.json: its kind, rows of numbers, Spark's answers for them, its importances, or a part of the
error with which it is to be refused. The rows hold categories, numbers at the thresholds of splits and, in one model, numbers of one digit.
"""
import json
import os
import random
import shutil
import sys

from pyspark.ml import Pipeline
from pyspark.ml.classification import (DecisionTreeClassifier, GBTClassifier, RandomForestClassificationModel,
                                       RandomForestClassifier)
from pyspark.ml.feature import StringIndexer, VectorAssembler, VectorIndexer
from pyspark.ml.regression import DecisionTreeRegressor, GBTRegressor, RandomForestRegressor
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, when

out, trees, depth, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
draw = random.Random(7)
training = 4000


def row():
    shots, minute, rate = draw.gauss(0, 2), float(draw.randrange(95)), round(draw.random(), 1)
    team, weather, day = draw.randrange(14), draw.randrange(5), draw.randrange(7)
    score = shots + rate * 3 + (2 if team in (1, 4, 5, 9, 12) else 0) - (3 if weather in (0, 3) else 0) + minute / 40 * (day % 3) + draw.gauss(0, 1)
    kind = min(int(abs(score) * 4), 39)
    return (shots, minute, rate, f"team {team}", f"weather {weather}", float(day), min(int(abs(score)), 2) * 1.0, score * 100, 1.0 + team % 3, f"kind {kind}")


table = spark.createDataFrame([row() for _ in range(max(training, rows))],
                              ["shots", "minute", "rate", "team", "weather", "day", "label", "target", "weight", "kind"]).repartition(2).cache()
indexed = Pipeline(stages=[StringIndexer(inputCols=["team", "weather"], outputCols=["teamIndex", "weatherIndex"]),
                           StringIndexer(inputCol="kind", outputCol="kindIndex")]).fit(table).transform(table)
assembled = VectorAssembler(inputCols=["shots", "minute", "rate", "teamIndex", "weatherIndex", "day"], outputCol="raw").transform(indexed)
ready = VectorIndexer(inputCol="raw", outputCol="features", maxCategories=15).fit(assembled).transform(assembled)
numbers = VectorAssembler(inputCols=["shots", "minute", "rate"], outputCol="features").transform(indexed)
asked = {"all": ready.limit(rows).cache(), "numbers": numbers.limit(rows).cache(), "few": ready.limit(max(rows // 10, 20)).cache()}


def at_thresholds(frame, model):
    """Rows of which one number is a threshold of the model, and its neighbours."""
    import numpy
    splits = spark.read.parquet(model + "/data").select("nodeData.split.*").where("numCategories = -1 and featureIndex >= 0").limit(min(200, rows // 4)).collect()
    base = [r.features.toArray() for r in frame.limit(len(splits)).collect()]
    found = []
    for r, s in zip(base, splits):
        t = s.leftCategoriesOrThreshold[0]
        for v in (t, float(numpy.nextafter(t, numpy.inf)), float(numpy.nextafter(t, -numpy.inf))):
            r = r.copy()
            r[s.featureIndex] = v
            found.append(r)
    return found


def answer(name, model, kind, data="all"):
    from pyspark.ml.linalg import Vectors
    frame = asked[data].select("features")
    if os.path.isdir(f"{out}/{name}/treesMetadata"):
        near = at_thresholds(frame, f"{out}/{name}")
        if near:
            frame = frame.union(spark.createDataFrame([(Vectors.dense(r),) for r in near], ["features"]))
    got = model.transform(frame).collect()
    want = [r.probability.toArray().tolist() if kind == "classifier" else [r.prediction] for r in got]
    with open(f"{out}/{name}.json", "w") as f:
        json.dump({"kind": kind, "rows": [r.features.toArray().tolist() for r in got], "want": want, "prediction": [r.prediction for r in got],
                   "importance": [] if name == "boosted" else model.featureImportances.toArray().tolist()}, f)
        f.write("\n")


def refuse(name, kind, error):
    with open(f"{out}/{name}.json", "w") as f:
        json.dump({"kind": kind, "error": error}, f)
        f.write("\n")


def save(name, learner, kind, data="all"):
    model = learner.fit((numbers if data == "numbers" else ready).limit(training))
    model.write().overwrite().save(f"{out}/{name}")
    answer(name, model, kind, data)


def again(name, of, tables=("data",), change=lambda t: t, files=1, **options):
    """A model whose tables are written again, in another form, and answered for by Spark's own reader of it."""
    shutil.rmtree(f"{out}/{name}", ignore_errors=True)
    shutil.copytree(f"{out}/{of}", f"{out}/{name}")
    for table in tables:
        t = change(spark.read.parquet(f"{out}/{of}/{table}")).repartition(files)
        w = t.write.mode("overwrite")
        for key, v in options.items():
            w = w.option(key.replace("_", "."), v)
        w.parquet(f"{out}/{name}/{table}")
    answer(name, RandomForestClassificationModel.load(f"{out}/{name}"), "classifier", "few")


few = {"numTrees": trees, "maxDepth": depth, "maxBins": 64, "seed": 3}
os.makedirs(out, exist_ok=True)
save("classes", RandomForestClassifier(**few), "classifier")
save("weights", RandomForestClassifier(weightCol="weight", impurity="entropy", bootstrap=True, subsamplingRate=.7, **few), "classifier")
save("numbers", RandomForestClassifier(**few), "classifier", "numbers")
save("kinds", RandomForestClassifier(labelCol="kindIndex", **few), "classifier", "few")
save("regression", RandomForestRegressor(labelCol="target", **few), "regressor")
save("tree", DecisionTreeClassifier(maxDepth=depth, maxBins=64), "classifier")
save("tree-regression", DecisionTreeRegressor(labelCol="target", weightCol="weight", maxDepth=depth, maxBins=64), "regressor")
save("boosted", GBTRegressor(labelCol="target", maxIter=trees, maxDepth=min(depth, 5), maxBins=64, stepSize=.3, seed=3), "regressor")

again("parts", "classes", files=4)
again("gzip", "classes", compression="gzip", files=2)
again("zstd", "classes", compression="zstd", parquet_page_size="1024", parquet_enable_dictionary="false")
again("plain", "classes", compression="none", parquet_page_size="512", parquet_dictionary_page_size="512", parquet_block_size="20000")
again("tree-weights", "classes", tables=("treesMetadata",), change=lambda t: t.withColumn("weights", when(col("treeID") == 0, 7.5).otherwise(col("weights"))))
spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
again("legacy", "classes")
spark.conf.set("spark.sql.parquet.writeLegacyFormat", "false")
again("version2", "classes", parquet_writer_version="v2")

two = ready.where("label < 2").limit(training)
GBTClassifier(maxIter=2, maxDepth=2, maxBins=64).fit(two).write().overwrite().save(f"{out}/boosted-classes")
refuse("boosted-classes", "classifier", "logarithm of odds")
chosen = RandomForestClassifier(numTrees=2, maxDepth=2, maxBins=64)
chosen.set(chosen.thresholds, [.2, .3, .5])
chosen.fit(ready.limit(training)).write().overwrite().save(f"{out}/thresholds")
refuse("thresholds", "classifier", "thresholds are [0.2 0.3 0.5]")
stages = Pipeline(stages=[VectorAssembler(inputCols=["shots", "minute"], outputCol="two"), RandomForestClassifier(featuresCol="two", numTrees=2, maxDepth=2)])
stages.fit(indexed.limit(training)).write().overwrite().save(f"{out}/pipeline")
refuse("pipeline", "classifier", "stages/1_RandomForestClassifier")
print(spark.version)
spark.stop()
