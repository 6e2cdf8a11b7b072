"""Prints, as JSON by name, what onnxruntime answers for the rows in NAME.json by NAME.onnx, of each model in a folder; onnx checks the model first.

    runtime.py FOLDER
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

answers = {}
for path in pathlib.Path(sys.argv[1]).glob("*.onnx"):
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    rows = np.array(json.loads(path.with_suffix(".json").read_text()), dtype=np.float64 if entry.type == "tensor(double)" else np.float32)
    *labels, got = session.run(None, {entry.name: rows})
    answers[path.stem] = {"labels": [str(label) for label in labels[0]] if labels else None, "answers": got.tolist()}
print(json.dumps(answers))
