#!/bin/sh
# Six systems: two of them too large for anything but a GPU.
set -eu
cd "$(dirname "$0")"
while read -r name kind atoms; do
    mkdir -p "workspace/$name"
    printf '{"kind": "%s", "atoms": %d}\n' "$kind" "$atoms" > "workspace/$name/value.json"
done << 'end'
water-1 water 3000
water-2 water 24000
water-3 water 192000
protein-1 protein 52000
protein-2 protein 81000
protein-3 protein 640000
end
