#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# figures.sh RESULTS DIR - every figure of tools/fig from the CSV files of a run, as DIR/NAME.svg
set -eu
command -v gnuplot >/dev/null 2>&1 || { echo "figures: gnuplot is not installed (Debian: gnuplot-nox): left out"; exit 0; }
mkdir -p "$2"
for script in tools/fig/*.gp; do
	svg=$2/$(basename "$script" .gp).svg
	gnuplot -e "csv='$1/ops.csv'; out='$svg'" "$script"
	echo "$svg"
done
