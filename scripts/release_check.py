"""Looks at a release with tools that are not ours: lists of what is linked by CycloneDX's schema, the provenance by in-toto's, all digests by hashlib.

    release_check.py FOLDER COMMIT
"""

import hashlib
import json
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf import json_format
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1 import statement_pb2

folder, commit = pathlib.Path(sys.argv[1]), sys.argv[2]
digests = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()}

boms = sorted(folder.glob("*.cdx.json"))
for bom in boms:
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom.read_text())
    assert wrong is None, f"{bom.name}: {wrong}"
    linked = {c["name"] for c in json.loads(bom.read_text())["components"]}
    for module in ("github.com/segmentio/kafka-go", "github.com/traefik/yaegi", "github.com/go-zeromq/zmq4", "std"):
        assert module in linked, f"{bom.name} lacks {module}"
    print(f"ok   {bom.name}: CycloneDX 1.6, {len(linked)} modules")
assert len(boms) == len(list(folder.glob("*.tar.gz"))), "a program without a list of what is linked into it"

text = json.loads((folder / "provenance.json").read_text())
parsed = json_format.ParseDict(text, statement_pb2.Statement())
Statement.copy_from_pb(parsed).validate()
told = {s.name: s.digest["sha256"] for s in parsed.subject}
others = {"provenance.json", "SHA256SUMS", "SHA256SUMS.sig"}
assert told == {n: d for n, d in digests.items() if n not in others}, "the provenance names other files or digests"
built = text["predicate"]["buildDefinition"]["resolvedDependencies"]
assert {"gitCommit": commit} in [r["digest"] for r in built], f"the provenance is of another commit: {built}"
print(f"ok   provenance.json: an in-toto statement of {len(told)} files, of {commit[:12]}")

sums = dict(reversed(line.split("  ", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
assert sums == {n: d for n, d in digests.items() if n not in {"SHA256SUMS", "SHA256SUMS.sig"}}, "SHA256SUMS"
print(f"ok   SHA256SUMS: {len(sums)} files")
