#!/bin/sh
# Mean and variance of one directory's spanning.txt, as average.json.
set -eu
cd "$1"
awk '
    { sum += $1; squares += $1 * $1 }
    END {
        mean = sum / NR
        variance = (squares - NR * mean * mean) / (NR - 1)
        printf "{\"mean\": %.8f, \"variance\": %.10f, \"lattices\": %d}\n", mean, variance, NR
    }
' spanning.txt > .average.json.tmp
mv .average.json.tmp average.json
echo "$1: averaged"
