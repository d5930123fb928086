#!/bin/sh
# The distance of each point from the origin.
set -eu
for directory in "$@"; do
    sed 's/[^0-9 ]//g' "workspace/$directory/value.json" |
        awk '{ print sqrt($1 * $1 + $2 * $2) }' > "workspace/$directory/distance.txt"
done
