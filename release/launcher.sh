#!/bin/sh
# Starts rowtui with the Python beside this file.
exec "$(dirname "$(readlink -f "$0")")/python3" -m rowtui "$@"
