"""Makes forest.json: what scikit-learn's random forest reaches on a table that the Go test builds by itself.

    pip install scikit-learn==1.9.1 && python forest.py > forest.json

The table is made of integers by a linear congruential generator, so that both languages have the same bits.
"""
import json
import sys

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error

ROWS, COLUMNS, TRAIN = 6000, 8, 4000


def table():
    """Eight columns of sums of four uniform draws; the class is the greatest of three noisy functions of them."""
    state = 12345

    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (state >> 40) / (1 << 24)

    x, label, target = np.zeros((ROWS, COLUMNS), np.float32), np.zeros(ROWS, int), np.zeros(ROWS)
    for i in range(ROWS):
        for k in range(COLUMNS):
            x[i, k] = draw() + draw() + draw() + draw() - 2
        a = [float(v) for v in x[i]]
        score = [a[0] + a[1] * a[2], a[1] - a[3], a[4] * a[4] - a[0]]
        score = [s + draw() - 0.5 for s in score]
        label[i] = score.index(max(score))
        target[i] = score[0] + score[1]
    return x, label, target


def main():
    x, label, target = table()
    train, test = slice(0, TRAIN), slice(TRAIN, ROWS)
    accuracy, loss, error = [], [], []
    for seed in range(10):
        c = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed, n_jobs=-1).fit(x[train], label[train])
        p = c.predict_proba(x[test])
        accuracy.append(accuracy_score(label[test], p.argmax(1)))
        loss.append(log_loss(label[test], p))
        r = RandomForestRegressor(100, min_samples_leaf=3, max_features=0.5, random_state=seed, n_jobs=-1)
        error.append(mean_squared_error(target[test], r.fit(x[train], target[train]).predict(x[test])))
    summary = {
        name: {"mean": float(np.mean(v)), "sd": float(np.std(v, ddof=1))}
        for name, v in [("accuracy", accuracy), ("log_loss", loss), ("squared_error", error)]
    }
    json.dump({"sklearn": sklearn.__version__, **summary}, sys.stdout, indent=1)
    print()


main()
