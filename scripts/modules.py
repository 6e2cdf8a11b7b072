#!/usr/bin/env python3
"""Imports modules of many kinds in notebooks of their own, twice each, and prints how long the first session and the second took.

What is checked is each cell's value; the times are for a reader. The first is that of a download and a build only where Go's caches and the
engine's have not seen the module. Needs Go's module proxy, and is skipped where that does not answer: exit 3.

    scripts/modules.py [NAME…]
"""
import json
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("CANCHA_PROGRAM", os.path.join(os.path.dirname(__file__), "..", "bin", "cancha"))

# name: (cell, value that it shows)
MODULES = {
    "spf13/cobra": ('import "github.com/spf13/cobra"\n(&cobra.Command{Use: "x"}).Name()', '"x"'),
    "stretchr/testify/assert": ('import "github.com/stretchr/testify/assert"\nassert.ObjectsAreEqual(1, 1)', "true"),
    "go.etcd.io/bbolt": ('import "go.etcd.io/bbolt"\nbbolt.DefaultOptions.Timeout', "0s"),
    "prometheus/client_golang": ('import "github.com/prometheus/client_golang/prometheus"\nprometheus.BuildFQName("a", "b", "c")', '"a_b_c"'),
    "jackc/pgx/v5": ('import "github.com/jackc/pgx/v5"\npgx.Identifier{"a"}.Sanitize()', '"\\"a\\""'),
    "x/text/language": ('import "golang.org/x/text/language"\nlanguage.MustParse("de").String()', '"de"'),
    "x/exp/constraints": ('import "golang.org/x/exp/constraints"\nfunc sum[T constraints.Integer](a ...T) (t T) { for _, x := range a { t += x }; return }\nsum(1, 2, 3)', "6"),
    "protobuf/proto": ('import "google.golang.org/protobuf/proto"\n*proto.Int32(3)', "3"),
    "gonum/optimize": ('import "gonum.org/v1/gonum/optimize"\noptimize.Success.String()', '"Success"'),
    "x/sync/errgroup": ('import "golang.org/x/sync/errgroup"\nvar g errgroup.Group\ng.Go(func() error { return nil })\ng.Wait() == nil', "true"),
    "klauspost/compress/zstd": ('import "github.com/klauspost/compress/zstd"\nzstd.SpeedDefault.String()', '"default"'),
    "modernc.org/sqlite": ('import (\n\t"database/sql"\n\t_ "modernc.org/sqlite"\n)\ndb, _ := sql.Open("sqlite", ":memory:")\nvar n int\n_ = db.QueryRow("select 40+2").Scan(&n)\nn', "42"),
    "gin-gonic/gin": ('import "github.com/gin-gonic/gin"\ngin.SetMode(gin.ReleaseMode)\ngin.Mode()', '"release"'),
    "go-playground/validator/v10": ('import "github.com/go-playground/validator/v10"\nvalidator.New().Var("a@b.c", "email") == nil', "true"),
    "parquet-go/parquet-go": ('import "github.com/parquet-go/parquet-go"\nparquet.ValueOf(3).Int64()', "3"),
}


def run(name, cell):
    """Runs a cell in a session of its own: the seconds that it took, and what it showed."""
    book = {"cells": [{"cell_type": "code", "id": "a", "execution_count": None, "metadata": {}, "outputs": [], "source": cell}],
            "metadata": {"language_info": {"name": "go"}}, "nbformat": 4, "nbformat_minor": 5}
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "n.ipynb"), os.path.join(folder, "out.ipynb")
        with open(path, "w") as f:
            json.dump(book, f)
        begin = time.monotonic()
        done = subprocess.run([PROGRAM, "run", "--timeout", "10m", "-o", out, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        took = time.monotonic() - begin
        value, said = "", ""
        if os.path.exists(out):
            with open(out) as f:
                for o in json.load(f)["cells"][0]["outputs"]:
                    value = "".join(o.get("data", {}).get("text/plain", value))
                    said += "".join(o.get("text", o.get("evalue", "")))
        return took, value, said or done.stdout


def main():
    names = sys.argv[1:] or list(MODULES)
    if unknown := [n for n in names if n not in MODULES]:
        sys.exit(f"no module {unknown[0]}: there are {', '.join(MODULES)}")
    failed = skipped = 0
    print("| module | first session | second |\n| --- | --- | --- |")
    for name in names:
        cell, want = MODULES[name]
        first, value, said = run(name, cell)
        if value != want and ("connect to the network" in said):
            print(f"| {name} | skipped: the module proxy does not answer | |", flush=True)
            skipped += 1
            continue
        second, again, _ = run(name, cell)
        print(f"| {name} | {first:.1f} s | {second:.1f} s |", flush=True)
        if value != want or again != want:
            failed += 1
            print(f"FAIL {name}: got {value!r}, then {again!r}, want {want!r}\n{said[-600:]}", flush=True)
    if failed:
        sys.exit(f"{failed} of {len(names)} modules failed")
    sys.exit(3 if skipped == len(names) else 0)


if __name__ == "__main__":
    main()
