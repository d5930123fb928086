#!/bin/sh
# Six directories without values.
set -eu
cd "$(dirname "$0")"
for number in 1 2 3 4 5 6; do mkdir -p "workspace/run$number"; done
