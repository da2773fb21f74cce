# SPDX-License-Identifier: Apache-2.0
# latency.gp - latency of each request over the time at which it was posted, from ops.csv
# gnuplot -e "csv='out/demo/ops.csv'; out='latency.svg'" tools/fig/latency.gp
set terminal svg size 900,450 font "sans-serif,12" background "white"
set output out
set datafile separator ","
ops = "RDMA_WRITE RDMA_WRITE_WITH_IMM SEND SEND_WITH_IMM RDMA_READ ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD"
count(op) = system(sprintf("awk -F, -v op=%s 'NR > 1 && $5 == op' '%s' | wc -l", op, csv)) + 0
set key outside right noenhanced
set grid
set logscale y
set xlabel "posted at (us)"
set ylabel "latency (us)"
array n[words(ops)]
do for [i = 1:words(ops)] { n[i] = count(word(ops, i)) }
shown = ""
do for [i = 1:words(ops)] { if (n[i]) { shown = shown." ".word(ops, i) } }
plot for [op in shown] csv using (strcol("opcode") eq op ? column("t_post_ps") / 1e6 : NaN):(column("latency_ps") / 1e6) \
	with points pointtype 7 pointsize 0.5 title op
