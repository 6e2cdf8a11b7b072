"""Has one library fit a forest, answer for the rows that were kept back and for one row at a time, and prints what that took as a JSON object.

    peer.py LIBRARY FOLDER --rows 100k --depth 12 --trees 100 --threads 2 --proba FILE

The probabilities go to FILE, as float64. Depth 0 is unlimited; each library then has what it allows at most. onnxruntime fits nothing: it
answers by the forest of scikit-learn, which is fitted and converted by the first call that needs it and kept in FOLDER."""
import argparse
import importlib.metadata
import json
import pathlib
import resource
import statistics
import time

import numpy as np

COLUMNS = 5  # of 30 for each split: the square root, as scikit-learn rounds it
SAMPLE = 0.632  # the part of the rows that a bootstrap sample has, for libraries that draw without replacement


def memory(field: str) -> int:
    """Return the resident memory of this process now (VmRSS) or at most (VmHWM), in bytes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"peer.py: /proc/self/status has no {field}: memory is measured on Linux")


def processor() -> float:
    """Return the processor seconds of this process, user and system, of all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Step:
    """Measures what is done in a with statement: seconds of the clock and of the processor, user and system, and memory before and at most."""

    def __enter__(self):
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the most counts from now on
        self.before = memory("VmRSS")
        self.cpu, self.began = processor(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds, self.cpu = time.perf_counter() - self.began, processor() - self.cpu
        self.peak = memory("VmHWM")

    def result(self) -> dict:
        return {"seconds": self.seconds, "cpu_seconds": self.cpu, "before": self.before, "peak": self.peak}


class Scikit:
    package = "scikit-learn"

    def __init__(self, args):
        self.model = self.forest()(n_estimators=args.trees, max_depth=args.depth or None, max_features="sqrt", n_jobs=args.threads, random_state=args.seed)

    def forest(self):
        from sklearn.ensemble import RandomForestClassifier
        return RandomForestClassifier

    def fit(self, x, y):
        self.model.fit(x, y)

    def proba(self, x):
        return self.model.predict_proba(x)

    def one(self, x):
        self.model.n_jobs = 1
        return self.model.predict_proba(x)

    def note(self) -> str:
        return ""


class OneDAL(Scikit):
    package = "scikit-learn-intelex"

    def forest(self):
        from sklearnex.ensemble import RandomForestClassifier
        return RandomForestClassifier

    def note(self) -> str:
        return "" if hasattr(self.model, "_onedal_estimator") else "scikit-learn itself has fitted: oneDAL does not take this case"


class LightGBM(Scikit):
    package = "lightgbm"
    LEAVES = 131_072  # the most that LightGBM allows a tree
    HISTOGRAMS = 1024  # MB for those of leaves; without a limit it takes 17 GB for as many leaves

    def __init__(self, args):
        from lightgbm import LGBMClassifier
        leaves = min(2**args.depth, self.LEAVES) if args.depth else self.LEAVES
        self.depth = args.depth
        self.model = LGBMClassifier(boosting_type="rf", n_estimators=args.trees, max_depth=args.depth or -1, num_leaves=leaves, min_child_samples=1, min_child_weight=0,
                                    subsample=SAMPLE, subsample_freq=1, feature_fraction_bynode=COLUMNS / 30, histogram_pool_size=self.HISTOGRAMS,
                                    n_jobs=args.threads, random_state=args.seed, verbosity=-1)

    def fit(self, x, y):
        self.model.set_params(num_leaves=min(self.model.num_leaves, len(x)))  # room for more would only take time
        self.model.fit(x, y)

    def note(self) -> str:
        leaves = [t["num_leaves"] for t in self.model.booster_.dump_model()["tree_info"]]
        cap = "" if self.depth else f", at most {self.model.num_leaves} each"
        return f"{len(leaves)} trees, one for each class and turn, of {statistics.mean(leaves):.0f} leaves{cap}; gradients, not shares of classes"


class XGBoost(Scikit):
    package = "xgboost-cpu"
    DEPTH = 40  # without a limit it takes 15 times as long for trees of as many leaves (measured with 10,000 rows)

    def __init__(self, args):
        from xgboost import XGBRFClassifier
        self.depth = args.depth
        self.model = XGBRFClassifier(n_estimators=args.trees, max_depth=args.depth or self.DEPTH, tree_method="hist", max_bin=256, subsample=SAMPLE, colsample_bynode=COLUMNS / 30,
                                     min_child_weight=0, n_jobs=args.threads, random_state=args.seed)

    def one(self, x):
        return self.model.predict_proba(x)

    def note(self) -> str:
        trees = self.model.get_booster().get_dump()
        cap = "" if self.depth else f", at most {self.DEPTH} deep"
        return f"{len(trees)} trees, one for each class and turn, of {statistics.mean(t.count('leaf=') for t in trees):.0f} leaves{cap}; gradients, not shares of classes"


class ONNXRuntime:
    package = "onnxruntime"

    def __init__(self, args):
        self.args = args
        self.path = args.folder / f"sklearn{args.rows}-{args.depth or 'unlimited'}-{args.trees}.onnx"

    def fit(self, x, y):
        """Have scikit-learn fit and skl2onnx convert: no part of what is measured here."""
        if not self.path.exists():
            import skl2onnx
            from skl2onnx.common.data_types import FloatTensorType
            peer = Scikit(self.args)
            peer.fit(x, y)
            model = skl2onnx.to_onnx(peer.model, initial_types=[("X", FloatTensorType([None, x.shape[1]]))], options={"zipmap": False}).SerializeToString()
            half = self.path.with_suffix(".half")
            half.write_bytes(model)
            half.rename(self.path)

    def open(self, threads: int):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        return onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])

    def proba(self, x):
        return self.many.run(["probabilities"], {"X": x})[0]

    def one(self, x):
        return self.single.run(["probabilities"], {"X": x})[0]

    def note(self) -> str:
        return "scikit-learn's forest, converted by skl2onnx"


LIBRARIES = {"scikit-learn": Scikit, "oneDAL": OneDAL, "LightGBM": LightGBM, "XGBoost": XGBoost, "onnxruntime": ONNXRuntime}


def fitted(library, peer, x, y) -> dict | None:
    """Have it fit and return what that took; None of a library that only answers."""
    if library == "onnxruntime":
        peer.many, peer.single = peer.open(peer.args.threads), peer.open(1)
        return None
    with Step() as fit:
        peer.fit(x, y)
    return fit.result()


def answers(peer, x) -> tuple[dict, np.ndarray]:
    """Return what it takes to answer for all rows, the median of three times, and the answers."""
    steps = []
    for _ in range(3):
        with Step() as step:
            proba = peer.proba(x)
        steps.append(step.result())
    return {key: statistics.median(s[key] for s in steps) for key in steps[0]}, np.ascontiguousarray(proba, dtype=np.float64)


def one(peer, x) -> tuple[float, int]:
    """Return the median of the seconds for one row, of many rows or of as many as two seconds have, and of how many."""
    times, until = [], time.perf_counter() + 2
    for i in range(len(x)):
        began = time.perf_counter()
        peer.one(x[i:i + 1])
        now = time.perf_counter()
        times.append(now - began)
        if now > until and i >= 20:
            break
    return statistics.median(times), len(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--trees", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--proba", type=pathlib.Path)
    parser.add_argument("--convert", action="store_true", help="only make what onnxruntime needs, and keep it")
    args = parser.parse_args()
    x, y, test = (np.load(args.folder / f"{name}{args.rows}.npy") for name in ("Xtr", "ytr", "Xte"))
    peer = LIBRARIES[args.library](args)
    if args.convert:
        return peer.fit(x, y)
    fit = fitted(args.library, peer, x, y)
    predict, proba = answers(peer, test)
    seconds, times = one(peer, test)
    np.save(args.proba, proba)
    print(json.dumps({"library": args.library, "version": importlib.metadata.version(peer.package), "fit": fit, "predict": predict,
                      "one_row_seconds": seconds, "one_row_times": times, "note": peer.note()}))


main()
