#!/bin/sh
# Lists the largest blobs in the whole history: size in bytes, path.
# Usage: big_blobs.sh [how many]
set -eu

count=${1:-20}
git rev-list --objects --all |
	git cat-file --batch-check='%(objecttype) %(objectsize) %(rest)' |
	awk '$1 == "blob" { size = $2; $1 = $2 = ""; sub(/^ +/, ""); print size "\t" $0 }' |
	sort -rn |
	awk -v n="$count" 'NR <= n'
