"""Has Spark load the models in DIR that package mllib has written, and answer for the rows beside them: load.py DIR

In DIR are NAME and NAME.json, {"kind", "rows"}; what is printed is {NAME: {"answers"}}. NAME.again is the model as Spark saves it.
"""
import glob
import json
import os
import sys

from pyspark.ml.classification import RandomForestClassificationModel
from pyspark.ml.linalg import Vectors
from pyspark.ml.regression import RandomForestRegressionModel
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
found = {}
for path in sorted(glob.glob(sys.argv[1] + "/*.json")):
    with open(path) as f:
        asked = json.load(f)
    kind = RandomForestClassificationModel if asked["kind"] == "classifier" else RandomForestRegressionModel
    model = kind.load(path[:-5])
    frame = spark.createDataFrame([(i, Vectors.dense(r)) for i, r in enumerate(asked["rows"])], ["row", "features"])
    got = model.transform(frame).orderBy("row").collect()
    found[os.path.basename(path)[:-5]] = {
        "answers": [r.probability.toArray().tolist() if asked["kind"] == "classifier" else [r.prediction] for r in got]}
    model.write().save(path[:-5] + ".again")
print(json.dumps(found))
spark.stop()
