"""Compares spark/internal/protocol/connect.proto with Spark's own definitions; scripts/spark-protocol.sh runs it.

definitions FOLDER JAR...   write the .proto files that the jars hold into a folder
compare OURS THEIRS         compare two descriptor sets, beginning with the requests and responses of the service: each field of ours must be there with
                            its number, type and count, in a oneof as ours is, and so on with what it holds. Names are ours alone.
"""
import sys
import zipfile

CALLS = {  # ours to theirs
    "ExecuteRequest": "ExecutePlanRequest",
    "ExecuteResponse": "ExecutePlanResponse",
    "ReattachRequest": "ReattachExecuteRequest",
    "ReleaseExecuteRequest": "ReleaseExecuteRequest",
    "ReleaseExecuteResponse": "ReleaseExecuteResponse",
    "AnalyzeRequest": "AnalyzePlanRequest",
    "AnalyzeResponse": "AnalyzePlanResponse",
    "ConfigRequest": "ConfigRequest",
    "ConfigResponse": "ConfigResponse",
    "InterruptRequest": "InterruptRequest",
    "InterruptResponse": "InterruptResponse",
    "ReleaseSessionRequest": "ReleaseSessionRequest",
    "ReleaseSessionResponse": "ReleaseSessionResponse",
    "ErrorRequest": "FetchErrorDetailsRequest",
    "ErrorResponse": "FetchErrorDetailsResponse",
}
# What a newer server has: a field that the compared version lacks is named here, and nothing else is.
NEWER = {"Delete.evict_only", "Info.warning"}  # the models that a server of 4.1 keeps


def definitions(folder, *jars):
    for jar in jars:
        with zipfile.ZipFile(jar) as z:
            for name in z.namelist():
                if name.startswith("spark/connect/") and name.endswith(".proto"):
                    z.extract(name, folder)


def pool(path):
    from google.protobuf import descriptor_pb2, descriptor_pool

    with open(path, "rb") as f:
        files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
    made = descriptor_pool.DescriptorPool()
    for file in files.file:
        made.AddSerializedFile(file.SerializeToString())
    return made, files


def fields(ours, theirs, faults, seen):
    """Compares two messages."""
    if ours.full_name in seen:
        return
    seen.add(ours.full_name)
    for field in ours.fields:
        here = f"{ours.full_name}.{field.name} = {field.number}"
        other = theirs.fields_by_number.get(field.number)
        if other is None:
            if f"{ours.name}.{field.name}" not in NEWER:
                faults.append(f"{here}: {theirs.full_name} has no such number")
            continue
        if field.type != other.type or field.is_repeated != other.is_repeated:
            faults.append(f"{here}: {theirs.full_name}.{other.name} has another type, or another count")
        if real(field) != real(other):
            faults.append(f"{here}: only one of both is in a oneof, beside {theirs.full_name}.{other.name}")
        if field.message_type and other.message_type:
            fields(field.message_type, other.message_type, faults, seen)
        if field.enum_type and other.enum_type:
            for value in field.enum_type.values:
                if value.number not in other.enum_type.values_by_number:
                    faults.append(f"{here}: {other.enum_type.full_name} has no value {value.number}")


def real(field):
    """Whether a field is in a oneof with others; an optional one is in one of its own."""
    return field.containing_oneof is not None and not field.containing_oneof.name.startswith("_")


def messages(prefix, types):
    for m in types:
        name = f"{prefix}.{m.name}"
        if not m.options.map_entry:
            yield name
        yield from messages(name, m.nested_type)


def compare(ours, theirs):
    mine, files = pool(ours)
    spark, _ = pool(theirs)
    faults, seen = [], set()
    for name, other in CALLS.items():
        fields(mine.FindMessageTypeByName("cancha.spark." + name), spark.FindMessageTypeByName("spark.connect." + other), faults, seen)
    for file in files.file:
        for name in messages(file.package, file.message_type):
            if name not in seen:
                faults.append(f"{name} is part of no request and no response")
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        raise SystemExit(1)
    print(f"{len(seen)} messages are as Spark has them")


if __name__ == "__main__":
    {"definitions": definitions, "compare": compare}[sys.argv[1]](*sys.argv[2:])
