#!/bin/sh
# A stand-in for a simulation.
set -eu
cd "workspace/$1"
seq 1 20 > trajectory.txt
