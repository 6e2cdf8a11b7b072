// Package mllib reads the forests that Spark ML has saved as forests of package forest, and writes ours in Spark's layout, so that Spark loads
// them. It needs no Spark and no network: a model is a directory of JSON and Parquet. It ends there: pipelines, the stages before a forest and
// other models are refused by their names.
//
//	read      RandomForestClassificationModel, RandomForestRegressionModel, DecisionTreeClassificationModel, DecisionTreeRegressionModel,
//	          GBTRegressionModel, as Spark 2.4, 3 and 4 write them
//	refused   GBTClassificationModel, whose trees add up to a logarithm of odds and not to shares; thresholds that choose among classes by
//	          other than the largest probability
//	written   RandomForestClassificationModel and RandomForestRegressionModel, which Spark 3 and 4 load
//
// The layout is that of org.apache.spark.ml.tree.EnsembleModelReadWrite and DecisionTreeModelReadWrite: metadata/ has one line of JSON (metadata),
// data/ a row for each node (nodes), treesMetadata/ a row for each tree. A probability is Spark's: the mean over the trees of a leaf's shares,
// whatever the weights of the trees, which Spark keeps and does not use; only GBTRegressionModel counts by them. Answers differ from Spark's by
// the rounding of a sum, less than 1e-12.
//
// Numbers: Spark compares float64, so trees have exact thresholds (tree.Tree.Exact), and a dataset's Exact values are asked. A row with a NaN
// has no answer here; Spark sends it right.
//
// Categories: Spark's splits ask whether a category, a whole number from 0 on, is in a set; a forest's ask whether a number is at most a
// threshold. So a set becomes thresholds between neighbours of which one is in it and one not, and what is below such a split is there as often
// as the set has pieces (spark/internal/trees): the answers for categories are the same, the tree is larger, and one that would become enormous is refused.
// What is no category, such as 0.5, counts as the nearest one; Spark sends it to the side of
// more categories, and to the right one of equals.
//
// Names: Spark keeps none. Features are called f0, f1 and so on, classes 0, 1 and so on, which are its labels; set Features and Classes to
// others. What is written here has the forest's names beside, which Spark passes over.
package mllib
