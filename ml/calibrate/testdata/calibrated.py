"""Writes calibrated.json: what scikit-learn's CalibratedClassifierCV makes of a model that answers with its columns.

Run with scikit-learn 1.9.1: python calibrated.py > calibrated.json
"""

import json
import warnings

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

warnings.simplefilter("ignore")


class Columns(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are the columns of the table."""

    def fit(self, x, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, x):
        return x

    def predict(self, x):
        return self.classes_[x.argmax(axis=1)]


rng = np.random.default_rng(11)
n, k = 120, 3
out = {"sklearn": sklearn.__version__, "k": k, "tables": []}
for classes in (2, 3):
    true = rng.dirichlet(np.ones(classes), n)
    labels = np.array([rng.choice(classes, p=p) for p in true])
    p = true**2  # too certain
    p = np.round(p / p.sum(axis=1, keepdims=True), 2)  # many are equal
    p[:, 0] = np.round(1 - p[:, 1:].sum(axis=1), 2)
    p[:3] = np.eye(classes)[[0, 1, 1]]
    later = np.round(rng.dirichlet(np.ones(classes), 15), 3)
    later[:, 0] = 1 - later[:, 1:].sum(axis=1)
    weights = np.round(rng.uniform(0, 2, n), 2)
    weights[5:9] = 0
    table = {"p": p.tolist(), "labels": labels.tolist(), "weights": weights.tolist(), "later": later.tolist(), "cases": []}
    for method in ("sigmoid", "isotonic", "temperature"):
        for ensemble in (True, False):
            for w in (None, weights):
                m = CalibratedClassifierCV(Columns(), method=method, cv=KFold(k), ensemble=ensemble).fit(p, labels, sample_weight=w)
                table["cases"].append(
                    {"method": method, "single": not ensemble, "weighted": w is not None, "proba": m.predict_proba(later).tolist()}
                )
        frozen = CalibratedClassifierCV(FrozenEstimator(Columns().fit(p, labels)), method=method).fit(p, labels)
        table["cases"].append({"method": method, "frozen": True, "proba": frozen.predict_proba(later).tolist()})
    out["tables"].append(table)
print(json.dumps(out))
