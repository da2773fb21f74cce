#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# figures.sh RESULTS DIR - every figure NAME.gp of tools/fig as DIR/NAME.svg, from DIR/NAME.csv if there is one, else
# from ops.csv of a run
set -eu
command -v gnuplot >/dev/null 2>&1 || { echo "figures: gnuplot is not installed (Debian: gnuplot-nox): left out"; exit 0; }
mkdir -p "$2"
for script in tools/fig/*.gp; do
	svg=$2/$(basename "$script" .gp).svg
	csv=${svg%.svg}.csv
	[ -f "$csv" ] || csv=$1/ops.csv
	gnuplot -e "csv='$csv'; out='$svg'" "$script"
	echo "$svg"
done
