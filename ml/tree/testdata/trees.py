"""Makes trees.json: small tables, synthetic ones and samples of scikit-learn's data sets, and the trees that scikit-learn grows on them.

    pip install scikit-learn==1.9.1 && python trees.py > trees.json

Where two splits are equally good scikit-learn chooses by its own random numbers. Each case uses the first table on
which it has no such tie: twenty values of random_state give the same tree.
"""
import json
import sys

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def shape(t):
    """A tree as plain lists, leaves with feature -1 and threshold 0."""
    leaf = t.children_left == -1
    return {
        "feature": np.where(leaf, -1, t.feature).tolist(),
        "threshold": np.where(leaf, 0, np.minimum(t.threshold, np.finfo(np.float32).max)).tolist(),
        "left": np.where(leaf, 0, t.children_left).tolist(),
        "right": np.where(leaf, 0, t.children_right).tolist(),
        "missing_left": None if not t.missing_go_to_left.any() else np.where(leaf, 0, t.missing_go_to_left).tolist(),
        "value": np.round(t.value[:, 0, :], 9).tolist(),  # sums depend on the order of rows in their last digits
    }


def table(seed, columns, decimals):
    """Rows, classes, numbers to predict and weights."""
    x, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )
    x = np.round(x, decimals).astype(np.float32)
    rng = np.random.default_rng(seed)
    target = np.round(x[:, 0] * 2 + np.sin(3 * x[:, 1]) + rng.normal(0, 0.5, len(x)), 4)
    return x[:, :columns], y, target, np.round(rng.uniform(0.2, 3, len(x)), 2)


def case(name, kind, columns=5, decimals=3, weighted=False, missing=0.0, counts=False, **params):
    """A case on the first synthetic table without ties."""
    regression = kind is DecisionTreeRegressor
    for seed in range(500):
        x, classes, target, weight = table(seed, columns, decimals)
        if counts:
            target = np.round(np.exp(target / 3)).astype(int)
        x[np.random.default_rng(seed).random(x.shape) < missing] = np.nan
        found = grow(name, kind, x, target if regression else classes, weight if weighted else None, params)
        if found and len(set(classes)) == 3:
            return found
    sys.exit(f"{name}: equally good splits on every table")


def real(name, kind, load, columns=None, rows=300, **params):
    """A case on a data set of scikit-learn's: the first sample of its rows without ties."""
    data = load()
    for seed in range(500):
        pick = np.sort(np.random.default_rng(seed).permutation(len(data.data))[:rows])
        found = grow(name, kind, data.data[pick, :columns].astype(np.float32), data.target[pick], None, params)
        if found:
            return found
    sys.exit(f"{name}: equally good splits in every sample")


def grow(name, kind, x, y, w, params):
    """The case, or None where scikit-learn has equally good splits."""
    models = [kind(random_state=state, **params).fit(x, y, sample_weight=w) for state in range(20)]
    trees = [shape(m.tree_) for m in models]
    if any(t != trees[0] for t in trees):
        return None
    regression = kind is DecisionTreeRegressor
    answer = models[0].predict(x)[:, None] if regression else models[0].predict_proba(x)
    return {
        "name": name,
        "params": params,
        "regression": regression,
        "x": [[None if np.isnan(v) else float(str(v)) for v in row] for row in x],
        "y": y.tolist(),
        "weight": None if w is None else w.tolist(),
        "tree": trees[0],
        "importance": models[0].feature_importances_.tolist(),
        "predict": np.round(answer, 9).tolist(),
    }


def main():
    cases = [
        case("gini, one column, min_samples_leaf 5", DecisionTreeClassifier, columns=1, min_samples_leaf=5),
        case("gini, min_samples_leaf 8", DecisionTreeClassifier, min_samples_leaf=8),
        case("entropy, max_depth 4", DecisionTreeClassifier, criterion="entropy", max_depth=4),
        case("gini, weights, min_samples_leaf 6, min_samples_split 30", DecisionTreeClassifier, weighted=True, min_samples_leaf=6, min_samples_split=30),
        case("gini, few distinct values, max_depth 4", DecisionTreeClassifier, decimals=0, max_depth=4),
        case("gini, min_impurity_decrease", DecisionTreeClassifier, min_impurity_decrease=0.01),
        case("squared error, one column, unlimited", DecisionTreeRegressor, columns=1),
        case("squared error, min_samples_leaf 5", DecisionTreeRegressor, min_samples_leaf=5),
        case("squared error, weights, max_depth 4", DecisionTreeRegressor, weighted=True, max_depth=4),
        case("poisson, counts, min_samples_leaf 10", DecisionTreeRegressor, criterion="poisson", counts=True, min_samples_leaf=10),
        case("log loss, weights, max_depth 3", DecisionTreeClassifier, criterion="log_loss", weighted=True, max_depth=3),
        case("gini, max_leaf_nodes 12", DecisionTreeClassifier, max_leaf_nodes=12),
        case("squared error, max_leaf_nodes 20", DecisionTreeRegressor, max_leaf_nodes=20),
        case("gini, missing values, max_depth 4", DecisionTreeClassifier, missing=0.2, max_depth=4),
        case("entropy, missing values, min_samples_leaf 7", DecisionTreeClassifier, criterion="entropy", missing=0.2, min_samples_leaf=7),
        case("squared error, missing values, min_samples_leaf 5", DecisionTreeRegressor, missing=0.2, min_samples_leaf=5),
        real("wine, gini", DecisionTreeClassifier, load_wine, rows=150, min_samples_leaf=4),
        real("breast cancer, entropy", DecisionTreeClassifier, load_breast_cancer, columns=12, criterion="entropy", min_samples_leaf=6),
        real("diabetes, squared error", DecisionTreeRegressor, load_diabetes, min_samples_leaf=8),
    ]
    json.dump({"sklearn": sklearn.__version__, "cases": cases}, sys.stdout)
    print()


main()
