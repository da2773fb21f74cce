#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# trace.sh BUILD - reading traces: records a second of one core and peak memory, a million 64 B WRITEs, plain and gzip
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in million.trace million.trace.gz; do
	"$1/rnicsim" trace gen --count 1000000 --size 64 --window 64 -o "$dir/$name"
	/usr/bin/time -f "%U %S %M" -o "$dir/time" "$1/rnicsim" trace check "$dir/$name" >/dev/null
	awk -v n="$name" '{ printf "%-18s %6.2f M records/s, %.1f MB\n", n ":", 1 / ($1 + $2), $3 / 1024 }' "$dir/time"
done
