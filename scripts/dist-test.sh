#!/usr/bin/env bash
# The packages that users install, installed: the archive and the wheel of this platform are built, the wheel goes into a fresh
# virtual environment, and Jupyter, called by its absolute path without the environment being active, finds the kernel there and
# runs cells in it. Uninstalled, nothing is left. The engine that compiles cells is taken where "make kernelspec" has built it.
#
#   scripts/dist-test.sh PYTHON [full] [cross]
#
# full: that engine is built by the wheel's own program; and JupyterLab is installed, offers the kernel, and runs notebook 01.
# cross: the program is compiled for macOS too, on one of two processors as the last commit decides. That takes a minute where Go's
# cache holds nothing of it; "go test ." type-checks it for both in seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "$(command -v "${1:?which Python}")")
full= cross=
for word in "${@:2}"; do
  case $word in
  full) full=yes ;;
  cross) cross=yes ;;
  *) echo "dist-test.sh: no \"$word\"; there are full and cross" >&2; exit 2 ;;
  esac
done
root=$PWD
packages=nbclient
[ -n "$full" ] && packages="jupyterlab nbconvert"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "FAIL $*"
  exit 1
}

# outside COMMAND: as in a new terminal of a user who has Go and has activated nothing
outside() {
  env -i HOME="$place/home" PATH="$(dirname "$(command -v go)"):/usr/bin:/bin" LANG=C.UTF-8 XDG_CACHE_HOME="$cache" \
    GOCACHE="$gocache" GOMODCACHE="$gomodcache" GOPROXY="$goproxy" "$@"
}
gocache=$(go env GOCACHE) gomodcache=$(go env GOMODCACHE) goproxy=$(go env GOPROXY) # Go's caches stay the user's
cache=${XDG_CACHE_HOME:-$HOME/.cache}
[ -n "$full" ] && cache=$place/cache
mkdir "$place/home"

here=$(go env GOOS)/$(go env GOARCH)
go run -trimpath ./jupyter/dist -out "$place/dist" -platforms "$here"
(cd "$place/dist" && "$python" - <<'END')
import hashlib
for line in open("SHA256SUMS"):
    want, name = line.split()
    got = hashlib.sha256(open(name, "rb").read()).hexdigest()
    assert got == want, f"{name}: {got}, SHA256SUMS says {want}"
END

tar -xzf "$place"/dist/*.tar.gz -C "$place"
version=$("$place"/cancha-*/cancha version)
[ "$(ls "$place"/cancha-*/ | tr '\n' ' ')" = "LICENSE README.md THIRD_PARTY_LICENSES cancha " ] || fail "the archive holds $(ls "$place"/cancha-*/)"
echo "ok   archive: $version"

"$python" -m venv "$place/venv"
venv=$place/venv
"$venv/bin/pip" install --quiet --disable-pip-version-check -c jupyter/lab/constraints.txt $packages
files() { find "$venv" -not -type d -not -name '*.pyc' | sort; } # the folder of all kernels may stay
files > "$place/before"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$place"/dist/*.whl
"$venv/bin/pip" check > "$place/check" || fail "$(cat "$place/check")"
[ "$("$venv/bin/cancha" version)" = "$version" ] || fail "bin/cancha is $("$venv/bin/cancha" version)"
ln -s "$venv/bin/cancha" "$place/home/link"
[ "$("$place/home/link" version)" = "$version" ] || fail "a link to bin/cancha does not run"
copies=$(find "$venv" -size +20M | wc -l)
[ "$copies" = 1 ] || fail "$copies copies of the program"

outside "$venv/bin/jupyter" kernelspec list --json > "$place/list" 2> "$place/warnings" || fail "$(cat "$place/warnings")"
cat > "$place/run.py" <<'END'
import json, sys
import nbformat
from nbclient import NotebookClient

place, venv = sys.argv[1:]
spec = json.load(open(f"{place}/list"))["kernelspecs"]["cancha"]
assert spec["resource_dir"] == f"{venv}/share/jupyter/kernels/cancha", spec
cells = ['func double(n int) int { return 2 * n }\nfmt.Println("double", double(21))', "%engine"]
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
NotebookClient(nb, kernel_name="cancha", timeout=600).execute()
said = "".join(o.get("text", "") for c in nb.cells for o in c.outputs)
assert "double 42" in said, said
print(said, end="")
END
outside "$venv/bin/python" "$place/run.py" "$place" "$venv" > "$place/said" || fail "$(cat "$place/said")"
if command -v gcc cc clang > /dev/null; then
  grep -q 'cells that declare functions or types are compiled' "$place/said" || fail "cells are interpreted: $(cat "$place/said")"
fi
echo "ok   wheel: jupyter finds the kernel and runs cells"

if [ -n "$full" ]; then
  cat > "$place/lab.py" <<'END'
# starts JupyterLab as the user would, and asks it which kernels it offers
import json, subprocess, sys, time, urllib.error, urllib.request


def answer(url, until=time.monotonic() + 60):
    """Open a URL of a server that tells its address a moment before it listens there."""
    while True:
        try:
            return urllib.request.urlopen(url)
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


venv, folder = sys.argv[1:]
server = subprocess.Popen([f"{venv}/bin/jupyter", "lab", "--no-browser", "--allow-root", "--IdentityProvider.token=t", f"--ServerApp.root_dir={folder}"],
                          stderr=subprocess.PIPE, text=True)
try:
    url = next(line.split()[-1] for line in server.stderr if "http://127.0.0.1" in line).split("/lab")[0]
    specs = json.load(answer(f"{url}/api/kernelspecs?token=t"))
    assert specs["kernelspecs"]["cancha"]["spec"]["display_name"] == "Go (Cancha)", specs
    assert "logo-svg" in specs["kernelspecs"]["cancha"]["resources"], specs
finally:
    server.terminate()
    server.wait()
END
  outside "$venv/bin/python" "$place/lab.py" "$venv" "$root/notebooks" || fail "jupyter lab does not offer the kernel"
  outside "$venv/bin/jupyter" nbconvert --to notebook --execute --output-dir "$place" "$root/notebooks/01_tour.ipynb" 2> "$place/tour" || fail "$(cat "$place/tour")"
  echo "ok   jupyter lab offers the kernel, and 01_tour runs"
fi

"$venv/bin/pip" uninstall --quiet --disable-pip-version-check --yes cancha
[ ! -e "$venv/share/jupyter/kernels/cancha" ] || fail "pip uninstall leaves the kernel's folder"
files | diff "$place/before" - || fail "pip uninstall leaves these"
echo "ok   pip uninstall leaves nothing"

if [ -n "$cross" ]; then
  seed=$(git rev-parse HEAD 2> /dev/null || echo 0)
  arches=(arm64 amd64)
  arch=${arches[$((0x${seed:0:7} % 2))]}
  begin=$SECONDS
  CGO_ENABLED=0 GOFLAGS='' GOOS=darwin GOARCH=$arch go build -trimpath -buildvcs=false '-ldflags=-s -w' -o "$place/darwin" ./cmd/cancha || fail "darwin/$arch does not compile"
  echo "ok   darwin/$arch compiles ($((SECONDS - begin)) s)"
fi
echo "together $SECONDS s"
