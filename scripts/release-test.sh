#!/usr/bin/env bash
# A release is made twice from a clone of the last commit, for this platform: the same bytes, and tools that are not ours find it in order.
#
#   scripts/release-test.sh PYTHON [PLATFORMS]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?which Python}
platforms=${2:-$(go env GOOS)/$(go env GOARCH)}
root=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$python" -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/release-requirements.txt
ssh-keygen -q -t ed25519 -N "" -C maintainers -f "$place/key"
for time in first second; do
  git clone --quiet "$root" "$place/$time" # in another folder: no path of the machine is in what is made
  (cd "$place/$time" && KEY=$place/key scripts/release.sh "$platforms" > "$place/$time.log" 2>&1) || { cat "$place/$time.log"; exit 1; }
done
diff -r "$place/first/dist" "$place/second/dist"
echo "ok   twice the same $(find "$place/first/dist" -type f | wc -l) files"
"$place/venv/bin/python" scripts/release_check.py "$place/first/dist" "$(git rev-parse HEAD)"
echo "maintainers $(cut -d' ' -f1,2 "$place/key.pub")" > "$place/allowed_signers"
cd "$place/first/dist"
ssh-keygen -Y verify -f "$place/allowed_signers" -I maintainers -n cancha-release -s SHA256SUMS.sig < SHA256SUMS > /dev/null
echo "ok   SHA256SUMS.sig"
echo x >> SHA256SUMS
! ssh-keygen -Y verify -f "$place/allowed_signers" -I maintainers -n cancha-release -s SHA256SUMS.sig < SHA256SUMS > /dev/null 2>&1
echo "ok   sums that were changed do not pass"
