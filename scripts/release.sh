#!/usr/bin/env bash
# What a release consists of, in dist: archives and wheels for each platform, a list of what is linked into each program (SBOM, CycloneDX), the notes, how
# they were built (provenance, in-toto) and SHA256SUMS over all of it. The same commit and toolchain give the same bytes, so anybody can check them by
# building them again.
#
#   scripts/release.sh [PLATFORMS]      "linux/amd64 darwin/arm64"; all without it
#
# With KEY, the file of an SSH key, SHA256SUMS.sig is its signature (SECURITY.md says how to check it). A tag on the commit must be that of the version.
set -euo pipefail
cd "$(dirname "$0")/.."
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

die() { echo "release.sh: $*" >&2; exit 1; }

[ -z "$(git status --porcelain)" ] || die "there are changes that are not committed: a release is built from a commit"
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' cmd/internal/own/own.go)
tags=$(git tag --points-at HEAD)
[ -z "$tags" ] || grep -qx "v$version" <<< "$tags" || die "the commit has the tag $tags, and cmd/internal/own says version $version"

# notes VERSION prints what the changelog has of a version, or of what is to come where that has no heading of its own yet.
notes() {
  awk -v "heading=## $1" '$0 == heading { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}

rm -rf dist
go run -trimpath ./jupyter/dist -out dist -platforms "$*"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for archive in dist/*.tar.gz; do
  name=$(basename "$archive" .tar.gz)
  tar -xzf "$archive" -C "$place"
  go run "$sbom" bin -json -std -noserial -notimestamp -version "v$version" -output "dist/$name.cdx.json" "$place/$name/cancha" 2> "$place/log" || die "$(cat "$place/log")"
done
notes "$version" > dist/NOTES.md
[ -s dist/NOTES.md ] || notes Unreleased > dist/NOTES.md
go run -trimpath ./jupyter/dist -seal -out dist
if [ -n "${KEY:-}" ]; then
  ssh-keygen -q -Y sign -n cancha-release -f "$KEY" dist/SHA256SUMS
fi
(cd dist && sha256sum --quiet -c SHA256SUMS)
ls -l dist
