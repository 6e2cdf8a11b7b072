// Package onnx writes forests as ONNX models and reads ONNX models of trees as forests: those that skl2onnx makes of scikit-learn's
// RandomForest, ExtraTrees and DecisionTree, and what SaveClassifier and SaveRegressor write for onnxruntime and others. It ends at a graph
// whose one step is an ensemble of trees: it runs no other operator, and what a forest cannot answer exactly is refused with its name.
//
// The operators are TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml 1 and 3, and TreeEnsemble of version 5 with one target, as
// https://onnx.ai/onnx/operators describes them. What is written and what is read:
//
//	written   rows "X" float (double for forests with exact thresholds), BRANCH_LEQ, ids from 0 in each tree;
//	          classes as int64 where their names are such numbers, else as strings; two classes as onnxruntime has them, by the score of
//	          the second alone; the names of features and classes in metadata_props, as lists in JSON: feature_names, class_names
//	read      BRANCH_LEQ, _LT, _GTE, _GT (x < t is x <= the number before t); the sum, or the mean, of a target; base_values of a
//	          target; Cast to float and Concat of columns before the trees, Cast, Identity and ZipMap behind them
//	refused   BRANCH_EQ, _NEQ, _MEMBER; votes that are no shares of classes, and post_transform, as boosted trees have them; several
//	          targets; any other operator, such as a scaler before the trees
//
// Missing values: forests that have learned where they go (tree.Tree's MissingLeft) say so in nodes_missing_value_tracks_true, and are read
// from it, and from splits at infinity, as scikit-learn has them. Of other forests rows with a NaN have no answer here, and in onnxruntime
// that of the false branches. skl2onnx 1.20 does not write down where scikit-learn's trees have learned to send them.
//
// ONNX keeps float32 where a forest has float64, so answers agree to about 1e-7 of their size.
package onnx
