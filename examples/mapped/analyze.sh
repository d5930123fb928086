#!/bin/sh
# A stand-in for an analysis: of each directory that is named.
set -eu
for directory in "$@"; do
    awk '{ sum += $1 } END { print sum / NR }' "workspace/$directory/trajectory.txt" \
        > "workspace/$directory/energy.txt"
done
