# SPDX-License-Identifier: Apache-2.0
# loss.gp - goodput of RC WRITE and READ against loss rate, from the CSV file of tools/loss-curve.sh
# gnuplot -e "csv='out/figures/loss.csv'; out='loss.svg'" tools/fig/loss.gp
set terminal svg size 900,450 font "sans-serif,12" background "white"
set output out
set datafile separator ","
w = system("awk -F, 'NR == 2 { print $2 }' '" . csv . "'")
set logscale x
set xrange [0.00001:0.1]
set format x "10^{%T}"
set grid
set key bottom left reverse Left
set yrange [0:100]
set xlabel "probability that a packet is lost, each way"
set ylabel "goodput (Gb/s)"
plot csv using "loss":"sr_gbps":"sr_min_gbps":"sr_max_gbps" with yerrorlines pointtype 7 pointsize 0.6 \
		linecolor rgb "#59a14f" title "WRITE, selective repeat", \
	csv using "loss":"gbn_gbps":"gbn_min_gbps":"gbn_max_gbps" with yerrorlines pointtype 7 pointsize 0.6 \
		linecolor rgb "#4e79a7" title "WRITE, go-back-N", \
	csv using "loss":"formula_gbps" with lines dashtype 2 linecolor rgb "#e15759" \
		title "WRITE, go-back-N: 1 / (1 + p W), W = " . w . " packets", \
	csv using "loss":"read_sr_gbps":"read_sr_min_gbps":"read_sr_max_gbps" with yerrorlines \
		pointtype 6 pointsize 0.6 linecolor rgb "#8cd17d" title "READ, selective repeat", \
	csv using "loss":"read_gbn_gbps":"read_gbn_min_gbps":"read_gbn_max_gbps" with yerrorlines \
		pointtype 6 pointsize 0.6 linecolor rgb "#a0cbe8" title "READ, go-back-N"
