#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD TARGET... - libFuzzer on each target for FUZZ_MINUTES (10), from its seeds and what earlier runs found
#
# A finding stops it, and is printed with the command that shows it again. Where clang is missing, a line says so.
set -eu
build=$1
shift
command -v clang >/dev/null 2>&1 || { echo "fuzz: clang is not installed: left out"; exit 0; }

for target in "$@"; do
	corpus=$build/fuzz/corpus/$target
	mkdir -p "$corpus"
	make BUILD="$build" "$build/fuzz-$target"
	echo "fuzz: $target for ${FUZZ_MINUTES:-10} minutes"
	"$build/fuzz-$target" -max_total_time=$((${FUZZ_MINUTES:-10} * 60)) -max_len=4096 -timeout=20 -rss_limit_mb=2500 \
		-malloc_limit_mb=1024 -artifact_prefix="$build/fuzz/$target-" "$corpus" "testbench/fuzz/seeds/$target" \
		>"$build/fuzz/$target.log" 2>&1 || {
		grep -v '^#' "$build/fuzz/$target.log" | tail -40 >&2
		echo "fuzz: $target found something; again with: $build/fuzz-$target FILE (the test unit written above)" >&2
		exit 1
	}
	grep 'DONE' "$build/fuzz/$target.log" || true
done
