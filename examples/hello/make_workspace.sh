#!/bin/sh
# Three directories without values.
set -eu
cd "$(dirname "$0")"
for number in 0 1 2; do mkdir -p "workspace/directory$number"; done
