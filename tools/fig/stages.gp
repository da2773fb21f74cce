# SPDX-License-Identifier: Apache-2.0
# stages.gp - where the time of a request goes: mean of each stage by operation, from ops.csv
# gnuplot -e "csv='out/demo/ops.csv'; out='stages.svg'" tools/fig/stages.gp
set terminal svg size 900,450 font "sans-serif,12" background "white"
set output out
set datafile separator ","
stages = "doorbell fetch translate payload retry first_bit last_bit remote ack cqe poll"
# a line an operation: name, then the mean of each stage (columns from 21 on) in us
means = "awk -F, 'NR > 1 { n[$5]++; for (i = 21; i <= NF; i++) s[$5, i] += $i } END { for (o in n) { printf \"%s\", o; " . \
	"for (i = 21; i < 32; i++) printf \",%f\", s[o, i] / n[o] / 1e6; print \"\" } }' '" . csv . "' | sort"
set style data histogram
set style histogram rowstacked
set style fill solid 0.9
set boxwidth 0.7
set key outside right reverse Left noenhanced
set grid y
set ylabel "mean (us)"
set xtics rotate by -20 noenhanced
set bmargin 7
colours = "#4e79a7 #a0cbe8 #f28e2b #ffbe7d #e15759 #59a14f #8cd17d #b6992d #76b7b2 #b07aa1 #9c755f"
plot for [i = 1:words(stages)] "< " . means using (column(i + 1)):xtic(1) linecolor rgb word(colours, i) title word(stages, i)
