#!/bin/sh
# Twelve points and four letters.
set -eu
cd "$(dirname "$0")"
for x in 0 3 6; do
    for y in 0 4 8 12; do
        mkdir -p "workspace/point-$x-$y"
        printf '{"x": %d , "y": %d , "type": "point"}\n' $x $y > "workspace/point-$x-$y/value.json"
    done
done
for letter in a b c d; do
    mkdir -p "workspace/letter-$letter"
    printf '{"letter": "%s", "type": "letter"}\n' $letter > "workspace/letter-$letter/value.json"
done
