"""Makes linear.json: the coefficients that scikit-learn finds on a small synthetic table.

    pip install scikit-learn==1.9.1 && python linear.py > linear.json
"""
import json
import sys

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(3)
x = np.round(rng.normal(size=(400, 3)) * [1, 5, 0.2] + [0, 10, 1], 3)
exposure = np.round(rng.uniform(0.5, 2, 400), 3)
weight = np.round(rng.uniform(0.5, 2, 400), 3)
counts = rng.poisson(exposure * np.exp(0.3 + 0.5 * x[:, 0] - 0.1 * (x[:, 1] - 10) + x[:, 2] - 1))
scores = np.stack([x[:, 0], 0.2 * (x[:, 1] - 10), np.zeros(400)], 1) + rng.gumbel(size=(400, 3))
labels = scores.argmax(1)

scaled = StandardScaler().fit_transform(x)
# scikit-learn penalizes every class, we all but the last: the same only without a penalty to speak of.
logistic = LogisticRegression(C=1e6, tol=1e-10, max_iter=10000).fit(scaled, labels, sample_weight=weight)
# scikit-learn's Poisson loss is a weighted mean, so its alpha is λ over the sum of weights; an offset is weight and rate.
poisson = PoissonRegressor(alpha=1 / (weight * exposure).sum(), tol=1e-12, max_iter=10000)
poisson.fit(scaled, counts / exposure, sample_weight=weight * exposure)
plain = PoissonRegressor(alpha=1 / weight.sum(), tol=1e-12, max_iter=10000).fit(scaled, counts, sample_weight=weight)
json.dump(
    {
        "sklearn": sklearn.__version__,
        "x": x.tolist(),
        "exposure": exposure.tolist(),
        "weight": weight.tolist(),
        "counts": counts.tolist(),
        "labels": labels.tolist(),
        "probabilities": logistic.predict_proba(scaled).tolist(),
        "rates": (poisson.predict(scaled) * exposure).tolist(),
        "accuracy": logistic.score(scaled, labels, sample_weight=weight),
        "d2": plain.score(scaled, counts, sample_weight=weight),
    },
    sys.stdout,
)
print()
