#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD TARGET... - libFuzzer on each target for FUZZ_MINUTES (10) of CPU time, from its seeds and what
# earlier runs found
#
# libFuzzer's own limit is wall time: on a busy machine it is started again until the CPU time is reached. A finding
# stops everything, and is printed with the command that shows it again. Where clang is missing, a line says so.
set -eu
build=$1
shift
command -v clang >/dev/null 2>&1 || { echo "fuzz: clang is not installed: left out"; exit 0; }

# cpu: user time of this shell's children, in seconds (in a subshell it would be that of the subshell's)
take_cpu() {
	times > "$build/fuzz/times"
	cpu=$(awk -F'[ms]' 'NR == 2 { printf "%d", $1 * 60 + $2 }' "$build/fuzz/times")
}

# play TARGET SECONDS
play() {
	target=$1
	entropic=1
	[ "$target" = nic ] && entropic=0 # weighing each input's thousands of features takes longer than the run
	"$build/fuzz-$target" -entropic=$entropic -max_total_time="$2" -max_len=4096 -timeout=20 -rss_limit_mb=2500 -malloc_limit_mb=1024 \
		-artifact_prefix="$build/fuzz/$target-" "$build/fuzz/corpus/$target" "testbench/fuzz/seeds/$target" \
		>"$build/fuzz/$target.log" 2>&1 || {
		grep -v '^#' "$build/fuzz/$target.log" | tail -40 >&2
		echo "fuzz: $target found something; again with: $build/fuzz-$target FILE (the test unit written above)" >&2
		exit 1
	}
}

for target in "$@"; do
	mkdir -p "$build/fuzz/corpus/$target"
	make BUILD="$build" "$build/fuzz-$target"
	take_cpu
	end=$((cpu + ${FUZZ_MINUTES:-10} * 60))
	echo "fuzz: $target for ${FUZZ_MINUTES:-10} minutes of CPU time"
	while [ "$cpu" -lt $end ]; do
		play "$target" $((end - cpu))
		take_cpu
	done
	echo "fuzz: $target: nothing found; $(grep 'DONE' "$build/fuzz/$target.log")"
done
