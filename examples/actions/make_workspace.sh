#!/bin/sh
# Five directories that count to 1, 2, 4, 8 and 16.
set -eu
cd "$(dirname "$0")"
for count in 1 2 4 8 16; do
    mkdir -p "workspace/count-$count"
    printf '{"count": %d}\n' $count > "workspace/count-$count/value.json"
done
