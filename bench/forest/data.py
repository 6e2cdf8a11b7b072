"""Writes the rows that all forests learn from and answer for: X and y, to train (tr) and to test (te), as float32 and int32.

    data.py FOLDER 100k|1m...

make_classification with 30 columns, of which 12 tell something and 6 repeat these, three classes of four clusters each, a row in twenty with
a class drawn by lot. The last 20,000 rows are for testing."""
import hashlib
import pathlib
import sys

import numpy as np
from sklearn.datasets import make_classification

ROWS = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
TEST = 20_000


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to train with and TEST more behind them."""
    x, y = make_classification(rows + TEST, n_features=30, n_informative=12, n_redundant=6, n_classes=3, n_clusters_per_class=4,
                               flip_y=0.05, class_sep=0.8, shuffle=True, random_state=42)
    return x.astype(np.float32), y.astype(np.int32)


def main(folder: pathlib.Path, sizes: list[str]):
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        parts = {name: folder / f"{name}{size}.npy" for name in ("Xtr", "ytr", "Xte", "yte")}
        if all(p.exists() for p in parts.values()):
            continue
        x, y = table(ROWS[size])
        for name, part in zip(parts, (x[:ROWS[size]], y[:ROWS[size]], x[ROWS[size]:], y[ROWS[size]:])):
            half = parts[name].with_suffix(".half.npy")  # a run that is stopped leaves no file that is cut short
            np.save(half, np.ascontiguousarray(part))
            half.rename(parts[name])
            print(f"{parts[name].name}: {part.shape}, {part.dtype}, sha256 {hashlib.sha256(part.tobytes()).hexdigest()[:16]}", file=sys.stderr)


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
