#!/bin/sh
# Turns [Unreleased] into a dated version. Usage: cut.sh 1.4.0 [file]
set -eu

version=${1:?usage: cut.sh VERSION [FILE]}
file=${2:-CHANGELOG.md}

grep -q '^## \[Unreleased\]' "$file" || { echo "$file: no [Unreleased] section" >&2; exit 1; }
if grep -qF "## [$version]" "$file"; then
	echo "$file: $version is already there" >&2
	exit 1
fi

tmp=$(mktemp)
awk -v v="$version" -v d="$(date +%Y-%m-%d)" '
	/^## \[Unreleased\]/ && !done { print; print ""; print "## [" v "] - " d; done = 1; next }
	{ print }
' "$file" >"$tmp"
cat "$tmp" >"$file"
rm -f "$tmp"
