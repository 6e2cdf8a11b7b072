"""Writes scores.json: what scikit-learn's metrics say of small tables. Run with scikit-learn 1.9.1: python scores.py > scores.json"""

import json

import numpy as np
from sklearn import metrics as m

rng = np.random.default_rng(7)
n = 60
weights = np.round(rng.uniform(0, 3, n), 2)
weights[:4] = 0
out = {"sklearn": __import__("sklearn").__version__, "weights": weights.tolist(), "tables": []}

for classes in (2, 3):
    labels = rng.integers(0, classes, n)
    # Probabilities of two digits, so that many are equal.
    p = np.round(rng.dirichlet(np.ones(classes), n) * 0.5 + 0.5 * np.eye(classes)[labels] * rng.uniform(0, 1, (n, 1)), 2)
    p[:, 0] = np.round(1 - p[:, 1:].sum(axis=1), 2)
    table = {"p": p.tolist(), "labels": labels.tolist()}
    for name, w in (("plain", None), ("weighted", weights)):
        score = p[:, 1] if classes == 2 else p
        table[name] = {
            "auc": m.roc_auc_score(labels, score, multi_class="ovr", average="macro", sample_weight=w),
            "ap": m.average_precision_score(labels, score, sample_weight=w),
            "f1": m.f1_score(labels, p.argmax(axis=1), average="macro", sample_weight=w),
            "accuracy": m.accuracy_score(labels, p.argmax(axis=1), sample_weight=w),
        }
    out["tables"].append(table)

targets = rng.poisson(2, n).astype(float)
predicted = np.round(np.maximum(targets + rng.normal(0, 1, n), 0.1), 3)
out["targets"], out["predicted"] = targets.tolist(), predicted.tolist()
for name, w in (("plain", None), ("weighted", weights)):
    out["regression_" + name] = {
        "r2": m.r2_score(targets, predicted, sample_weight=w),
        "d2": m.d2_tweedie_score(targets, predicted, power=1, sample_weight=w),
        "mse": m.mean_squared_error(targets, predicted, sample_weight=w),
        "mae": m.mean_absolute_error(targets, predicted, sample_weight=w),
        "deviance": m.mean_poisson_deviance(targets, predicted, sample_weight=w),
    }
print(json.dumps(out))
