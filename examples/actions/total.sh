#!/bin/sh
# The sum of each directory's squares.
set -eu
for directory in "$@"; do
    awk '{ sum += $1 } END { print sum + 0 }' "workspace/$directory/squares.txt" \
        > "workspace/$directory/total.txt"
done
