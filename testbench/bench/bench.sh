#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh BUILD - how fast the simulator is: bare kernel, small writes, bulk; no waves. Best of three runs.
set -eu
build=$1
dir=$build/bench
requests=100000
messages=200
mkdir -p "$dir"

best() { sort -g | tail -n 1; }

# kernel BLOCKS STEPS
kernel() {
	rate=$(for _ in 1 2 3; do "$build/bench-kernel" "$1" "$2"; done | sed 's/.*: *\([0-9.]*\) M.*/\1/' | best)
	printf '%-44s %8s M steps/s\n' "kernel, $1 blocks awake" "$rate"
}

# nic NAME UNITS UNIT "GENERATOR OPTIONS" TITLE: so many units of work by wall time
nic() {
	# shellcheck disable=SC2086
	"$build/rnicsim" trace gen $4 -o "$dir/$1.trace"
	printf '[scenario]\ntrace = %s.trace\n' "$1" > "$dir/$1.ini"
	for _ in 1 2 3; do
		"$build/rnicsim" run "$dir/$1.ini" -o "$dir/$1" --quiet
		sed -n 's/.*"wall_s": \([0-9.e+-]*\).*/\1/p; s/.*"steps": \([0-9]*\).*/\1/p' "$dir/$1/run.json" |
			awk -v units="$2" '{ v[NR] = $1 } END { printf "%.1f %.2f\n", units / v[2] / 1e3, v[1] / v[2] / 1e6 }'
	done | best | while read -r rate steps; do
		printf '%-44s %8s k %s (%s M steps/s)\n' "$5" "$rate" "$3" "$steps"
	done
}

kernel 100 50000000
kernel 10000 50000000
kernel 1000000 20000000
nic write64 $requests WQEs/s "--ops write --size 64 --qps 16 --window 64 --count $requests" \
	"two NICs, 64 B writes on 16 QPs"
nic write1m $((messages * 1024)) packets/s "--ops write --size 1MiB --qps 4 --window 4 --mtu 1024 --count $messages" \
	"two NICs, 1 MiB writes, 1 KiB packets"
