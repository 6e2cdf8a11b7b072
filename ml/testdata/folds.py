"""Writes folds.json: the test folds that scikit-learn makes of small tables, and what its cross_validate and GridSearchCV say of a model.

Run with scikit-learn 1.9.1: python folds.py > folds.json
"""

import json
import warnings

import numpy as np
import sklearn
from sklearn import model_selection as ms
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.simplefilter("ignore")
rng = np.random.default_rng(5)
n, k = 104, 4
x = np.round(rng.normal(size=(n, 3)), 3)
labels = (x[:, 0] + x[:, 1] ** 2 + rng.normal(size=n) > 0.8).astype(int) + (rng.uniform(size=n) < 0.2)
# Groups of different sizes, so that no order of equals has to be guessed.
groups = np.repeat(np.arange(13), np.arange(2, 15))
rng.shuffle(groups)


def folds(splitter, y=labels, g=None):
    return [test.tolist() for _, test in splitter.split(x, y, g)]


binary = (labels > 0).astype(int)


def model(c):
    return make_pipeline(StandardScaler(), LogisticRegression(C=c, tol=1e-10, max_iter=10000))


names = ["accuracy", "neg_log_loss", "roc_auc", "average_precision", "f1_macro", "neg_brier_score"]
scores = ms.cross_validate(model(1), x, binary, cv=ms.StratifiedKFold(k), scoring=names)
cs = [0.01, 0.1, 1, 10]
search = ms.GridSearchCV(model(1), {"logisticregression__C": cs}, scoring="neg_log_loss", cv=ms.KFold(k)).fit(x, binary)
print(
    json.dumps(
        {
            "sklearn": sklearn.__version__,
            "k": k,
            "x": x.tolist(),
            "labels": labels.tolist(),
            "groups": groups.tolist(),
            "folds": {
                "KFold": folds(ms.KFold(k)),
                "GroupKFold": folds(ms.GroupKFold(k), g=groups),
                "StratifiedKFold": folds(ms.StratifiedKFold(k)),
                "StratifiedGroupKFold": folds(ms.StratifiedGroupKFold(k), g=groups),
                "TimeSeriesSplit": folds(ms.TimeSeriesSplit(k)),
            },
            "scores": {name: scores["test_" + name].tolist() for name in names},
            "cs": cs,
            "mean": search.cv_results_["mean_test_score"].tolist(),
            "std": search.cv_results_["std_test_score"].tolist(),
            "rank": search.cv_results_["rank_test_score"].tolist(),
            "probabilities": ms.cross_val_predict(model(1), x, binary, cv=ms.KFold(k), method="predict_proba").tolist(),
        }
    )
)
