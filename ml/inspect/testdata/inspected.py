"""Writes inspected.json: scikit-learn's partial_dependence and permutation_importance of two regressions.

Run with scikit-learn 1.9.1: python inspected.py > inspected.json
"""

import json

import numpy as np
import sklearn
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(2)
n = 150
x = np.round(np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), rng.normal(size=n) * 3]), 3)
x[:, 2] += np.round(x[:, 0], 3)
labels = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=n) > 1).astype(int)
counts = rng.poisson(np.exp(0.3 * x[:, 0] + 0.2 * x[:, 1])).astype(float)
weights = np.round(rng.uniform(0, 2, n), 2)

logistic = make_pipeline(StandardScaler(), LogisticRegression(C=1, tol=1e-10, max_iter=10000)).fit(x, labels)
poisson = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1 / n, tol=1e-12, max_iter=10000)).fit(x, counts)
out = {"sklearn": sklearn.__version__, "x": x.tolist(), "labels": labels.tolist(), "counts": counts.tolist(), "weights": weights.tolist()}
for name, model in (("logistic", logistic), ("poisson", poisson)):
    out[name] = []
    for feature in range(3):
        pd = partial_dependence(model, x, [feature], kind="both", grid_resolution=20, method="brute")
        weighted = partial_dependence(model, x, [feature], grid_resolution=20, method="brute", sample_weight=weights)
        out[name].append(
            {
                "values": pd["grid_values"][0].tolist(),
                "average": pd["average"][0].tolist(),
                "weighted": weighted["average"][0].tolist(),
                "row": pd["individual"][0][7].tolist(),
            }
        )
importance = permutation_importance(logistic, x, labels, scoring="neg_log_loss", n_repeats=2000, random_state=0)
out["importance"] = {"mean": importance.importances_mean.tolist(), "std": importance.importances_std.tolist()}
print(json.dumps(out))
