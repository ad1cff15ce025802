#!/bin/sh
# Template for "git bisect run": copy it out of the work tree and edit the two commands.
# Exit 0 means good, 1 bad, 125 cannot be judged.
BUILD=${BUILD:-make}
CHECK=${CHECK:-make check}

sh -c "$BUILD" >build.log 2>&1 || exit 125

for _ in 1 2 3; do
	sh -c "$CHECK" || exit 1
done
exit 0
