"""Makes ONNX models, and what onnxruntime answers by them: what package onnx reads as forests, and what it refuses.

    models.py FOLDER [TREES] [DEPTH]      3 trees of depth 3 unless other numbers are given; with 0 as depth they are unlimited

    pip install -r requirements.txt && python models.py .      made what lies in this folder

FOLDER then has NAME.onnx of each model and answers.json: of each model that is read its kind, its rows and onnxruntime's answers; of each that
is refused a part of the error."""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import skl2onnx
from onnx import TensorProto, helper
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

folder = pathlib.Path(sys.argv[1])
TREES, DEPTH = (int(a) for a in (*sys.argv[2:], *("3", "3")[len(sys.argv) - 2:]))
OPTIONS = dict(n_estimators=TREES, max_depth=DEPTH or None, random_state=1)
COLUMNS = 4
x, y = make_classification(400, COLUMNS, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=3)
x = x.astype(np.float32)
number = x[:, 0] * 3 + np.sin(3 * x[:, 1])
words = np.array(["home", "draw", "away"])[y]
answers = {}


def convert(model, inputs=None, **options):
    return skl2onnx.to_onnx(model, initial_types=inputs or [("X", FloatTensorType([None, COLUMNS]))], options=options or None)


def rows(model) -> np.ndarray:
    """Return rows to ask for: some at random, and some whose numbers are thresholds of the model, and the numbers next to these."""
    chosen = np.random.default_rng(4).normal(0, 1.5, (40, COLUMNS)).astype(np.float32)
    at = 0
    for n in model.graph.node:
        values = {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}
        thresholds = [(f, t) for f, t in zip(values.get("nodes_featureids", []), values.get("nodes_values") or []) if np.isfinite(t)]
        for feature, t in thresholds[:30]:
            chosen[at, feature] = t if at % 3 else np.nextafter(np.float32(t), np.float32(np.inf if at % 2 else -np.inf))
            at += 1
    return chosen


def keep(name: str, model, kind: str, split=False, holes=False):
    """Write a model that is read, with onnxruntime's answers; with holes some rows lack a number, which is None in the file."""
    onnx.save(model, folder / f"{name}.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    asked = rows(model)
    if holes:
        asked[1::3, 0], asked[2::5, 1] = np.nan, np.nan
    given = asked.astype(np.float64) if session.get_inputs()[0].type == "tensor(double)" else asked
    feed = {i.name: given[:, [k]] for k, i in enumerate(session.get_inputs())} if split else {session.get_inputs()[0].name: given}
    got = session.run(None, feed)[-1]
    if isinstance(got, list):  # ZipMap
        got = [list(row.values()) for row in got]
    answers[name] = {"kind": kind, "rows": [[None if np.isnan(v) else v for v in row] for row in asked.tolist()], "want": np.asarray(got, dtype=np.float64).tolist()}


def refuse(name: str, model, kind: str, error: str):
    """Write a model that is refused, with a part of the reason."""
    onnx.save(model, folder / f"{name}.onnx")
    answers[name] = {"kind": kind, "error": error}


def edited(model, **attributes):
    """Return a model whose operator of trees has other attributes; None takes one out."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    n = next(n for n in model.graph.node if n.op_type.startswith("TreeEnsemble"))
    for name, value in attributes.items():
        old = [a for a in n.attribute if a.name == name]
        for a in old:
            n.attribute.remove(a)
        if value is not None:
            n.attribute.append(helper.make_attribute(name, value))
    return model


def values(model) -> dict:
    n = next(n for n in model.graph.node if n.op_type.startswith("TreeEnsemble"))
    return {a.name: helper.get_attribute_value(a) for a in n.attribute}


def with_mode(model, mode: str):
    """Return the model with all nodes in another mode, and children so that it answers much the same."""
    v = values(model)
    swap = mode in ("BRANCH_GT", "BRANCH_GTE")
    yes, no = ("nodes_falsenodeids", "nodes_truenodeids") if swap else ("nodes_truenodeids", "nodes_falsenodeids")
    return edited(model, nodes_modes=[m if m == b"LEAF" else mode.encode() for m in v["nodes_modes"]], nodes_truenodeids=v[yes], nodes_falsenodeids=v[no])


def shuffled(model):
    """Return the model with the trees backwards and the nodes of each in another order, the root first, with ids backwards and other ids of trees."""
    v = values(model)
    trees = np.array(v["nodes_treeids"])
    last = {t: int((trees == t).sum()) - 1 for t in trees.tolist()}
    order, new = [], dict(v)
    for t in sorted(last, reverse=True):
        root, *rest = np.flatnonzero(trees == t).tolist()
        order += [root, *np.random.default_rng(5).permutation(rest).tolist()]
    for name, of in ("nodes_nodeids", "nodes"), ("nodes_truenodeids", "nodes"), ("nodes_falsenodeids", "nodes"), ("class_nodeids", "class"):
        new[name] = [last[t] - i for t, i in zip(v[of + "_treeids"], v[name])]
    for name in "nodes_treeids", "class_treeids":
        new[name] = [7 * i + 2 for i in v[name]]
    for name in new:
        if name.startswith("nodes_"):
            new[name] = [list(new[name])[i] for i in order]
    return edited(model, **new)


def five(model):
    """Return a forest of numbers as TreeEnsemble of ai.onnx.ml 5."""
    v, at = values(model), {}
    inner = [i for i, m in enumerate(v["nodes_modes"]) if m != b"LEAF"]
    leaves = [i for i, m in enumerate(v["nodes_modes"]) if m == b"LEAF"]
    for i, (t, n) in enumerate(zip(v["nodes_treeids"], v["nodes_nodeids"])):
        at[t, n] = i
    weight = {at[t, n]: w for t, n, w in zip(v["target_treeids"], v["target_nodeids"], v["target_weights"])}

    def child(i, which):
        j = at[v["nodes_treeids"][i], v[which][i]]
        return (leaves.index(j), 1) if j in leaves else (inner.index(j), 0)
    yes, no = [child(i, "nodes_truenodeids") for i in inner], [child(i, "nodes_falsenodeids") for i in inner]
    n = helper.make_node(
        "TreeEnsemble", ["X"], ["variable"], domain="ai.onnx.ml", n_targets=1, aggregate_function=1, post_transform=0,
        tree_roots=[inner.index(at[t, 0]) for t in sorted(set(v["nodes_treeids"]))],
        nodes_featureids=[v["nodes_featureids"][i] for i in inner],
        nodes_modes=helper.make_tensor("m", TensorProto.UINT8, (len(inner),), np.zeros(len(inner), np.uint8)),
        nodes_splits=helper.make_tensor("s", TensorProto.FLOAT, (len(inner),), np.array([v["nodes_values"][i] for i in inner], np.float32)),
        nodes_truenodeids=[a for a, _ in yes], nodes_trueleafs=[b for _, b in yes], nodes_falsenodeids=[a for a, _ in no], nodes_falseleafs=[b for _, b in no],
        leaf_targetids=[0] * len(leaves),
        leaf_weights=helper.make_tensor("w", TensorProto.FLOAT, (len(leaves),), np.array([weight[i] for i in leaves], np.float32)))
    graph = helper.make_graph([n], "five", [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, COLUMNS])],
                              [helper.make_tensor_value_info("variable", TensorProto.FLOAT, [None, 1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 5), helper.make_opsetid("", 20)], ir_version=10)


def main():
    # scikit-learn's, as skl2onnx writes them
    forest = RandomForestClassifier(**OPTIONS).fit(x, y)
    plain = convert(forest, zipmap=False)
    keep("forest", plain, "classifier")
    keep("forest-words", convert(RandomForestClassifier(**OPTIONS).fit(x, words), zipmap=False), "classifier")
    keep("forest-zipmap", convert(forest), "classifier")
    two = convert(RandomForestClassifier(**OPTIONS).fit(x, y > 0), zipmap=False)
    keep("forest-two", two, "classifier")
    keep("extra", convert(ExtraTreesClassifier(**OPTIONS).fit(x, y), zipmap=False), "classifier")
    keep("tree", convert(DecisionTreeClassifier(max_depth=DEPTH or None, random_state=1).fit(x, y), zipmap=False), "classifier")
    keep("root", convert(RandomForestClassifier(**OPTIONS).fit(x * 0, y), zipmap=False), "classifier")
    regression = RandomForestRegressor(**OPTIONS).fit(x, number)
    numbers = convert(regression)
    keep("numbers", numbers, "regressor")
    keep("extra-numbers", convert(ExtraTreesRegressor(**OPTIONS).fit(x, number)), "regressor")
    keep("tree-numbers", convert(DecisionTreeRegressor(max_depth=DEPTH or None, random_state=1).fit(x, number)), "regressor")
    keep("double", convert(forest, [("X", DoubleTensorType([None, COLUMNS]))], zipmap=False), "classifier")
    keep("columns", convert(make_pipeline(ColumnTransformer([("all", "passthrough", [0, 1, 2, 3])]), RandomForestClassifier(**OPTIONS)).fit(x, y), [(c, FloatTensorType([None, 1])) for c in "abcd"], zipmap=False), "classifier", split=True)
    some = np.random.default_rng(6).uniform(size=x.shape) < np.stack([0.6 * (y == k) for k in (0, 1, 2, 0)], 1)
    missing = convert(RandomForestClassifier(**OPTIONS).fit(np.where(some, np.nan, x), y), zipmap=False)
    keep("missing", missing, "classifier", holes=True)
    # what others may write
    keep("missing-true", edited(with_mode(plain, "BRANCH_GT"), nodes_missing_value_tracks_true=[i % 3 % 2 for i in range(len(values(plain)["nodes_modes"]))]), "classifier", holes=True)
    for mode in "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE":
        keep(mode.lower(), with_mode(plain, mode), "classifier")
    v = values(two)
    both = {name: [i for i in v[name] for _ in range(2)] for name in ("class_treeids", "class_nodeids")}
    weights = [w for share in v["class_weights"] for w in (1 / TREES - share, share)]
    keep("two-both", edited(two, class_ids=[0, 1] * len(v["class_ids"]), class_weights=weights, **both), "classifier")
    keep("shuffled", shuffled(plain), "classifier")
    keep("average", edited(numbers, aggregate_function="AVERAGE", base_values=[-2.5]), "regressor")
    keep("five", five(numbers), "regressor")
    # what no forest equals
    refuse("equal", with_mode(plain, "BRANCH_EQ"), "classifier", "compares by BRANCH_EQ")
    refuse("not-equal", with_mode(plain, "BRANCH_NEQ"), "classifier", "compares by BRANCH_NEQ")
    refuse("boosted", convert(GradientBoostingClassifier(**OPTIONS).fit(x, y), zipmap=False), "classifier", "SOFTMAX (post_transform)")
    refuse("boosted-two", convert(GradientBoostingClassifier(**OPTIONS).fit(x, y > 0), zipmap=False), "classifier", "LOGISTIC")
    refuse("weighted", convert(AdaBoostClassifier(n_estimators=2, random_state=1).fit(x, y), zipmap=False), "classifier", "two ensembles")
    refuse("scaled", convert(make_pipeline(StandardScaler(), RandomForestClassifier(**OPTIONS)).fit(x, y), zipmap=False), "classifier", "Scaler beside the trees")
    refuse("targets", convert(RandomForestRegressor(**OPTIONS).fit(x, np.stack([number, -number], 1))), "regressor", "n_targets 2")
    refuse("least", edited(numbers, aggregate_function="MIN"), "regressor", "aggregate_function MIN")
    refuse("numbers-as-classes", numbers, "classifier", "open it as the other kind")
    refuse("softmax", edited(plain, post_transform="SOFTMAX"), "classifier", "SOFTMAX (post_transform)")
    refuse("base", edited(plain, base_values=[0.0, 0.5, 0.0]), "classifier", "base_values of 0.5")
    (folder / "answers.json").write_text(json.dumps(answers, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    print(f"{len(answers)} models by scikit-learn, skl2onnx {skl2onnx.__version__} and onnxruntime {onnxruntime.__version__}")


main()
