#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loss-curve.sh RNICSIM CSV - goodput of traces/loss.ini against loss rate, go-back-N and selective repeat
#
# The mean, least and greatest goodput of LOSS_SEEDS (5) seeds, and 1 / (1 + p W) of the lossless one. W is what one
# loss costs go-back-N, in packets: a run that loses one packet counts those that came in vain behind it. That is the
# bandwidth-delay product with all delays in it, those of the NAK and of packets already on their way to the port.
# Beside it the same transfer by READs, whose timer is longer than what they wait for those before them.
set -eu
rnicsim=$1
csv=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$(dirname "$csv")"
sed '/^post/i wire h0 h1 drop nth=5000' traces/loss.trace > "$dir/one.trace"
sed -e 's/RDMA_WRITE/RDMA_READ/' -e 's/access=lw,rw/access=lw,rr/' -e 's/timeout=1/timeout=4/' -e '/^expect mem/d' \
	traces/loss.trace > "$dir/read.trace"

# goodput RECOVERY LOSS OPTION...: bit/ns of one run, which must end with status 0
goodput() {
	recovery=$1
	loss=$2
	shift 2
	"$rnicsim" run traces/loss.ini -o "$dir/run" --quiet --set requester.recovery="$recovery" \
		--set responder.recovery="$recovery" --set link0.loss="$loss" "$@" >&2
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		{ bits += 8 * $col["bytes"]; if (NR == 2 || $col["t_post_ps"] < from) from = $col["t_post_ps"]
		  if ($col["t_cqe_ps"] > to) to = $col["t_cqe_ps"] }
		END { printf "%.3f\n", 1000 * bits / (to - from) }' "$dir/run/ops.csv"
}

# of_seeds RECOVERY LOSS OPTION...: mean,least,greatest
of_seeds() {
	for seed in $(seq "${LOSS_SEEDS:-5}"); do
		goodput "$@" --seed "$seed"
	done | awk 'NR == 1 { lo = hi = $1 } { s += $1; if ($1 < lo) lo = $1; if ($1 > hi) hi = $1 }
		END { printf "%.2f,%.2f,%.2f", s / NR, lo, hi }'
}

clean=$(goodput gbn 0)
goodput gbn 0 --trace "$dir/one.trace" > "$dir/one"
w=$(awk -F: '/"gaps"/ { n += $2 } END { print n + 1 }' "$dir/run/summary.json")
echo 'loss,w_pkt,formula_gbps,gbn_gbps,gbn_min_gbps,gbn_max_gbps,sr_gbps,sr_min_gbps,sr_max_gbps,'\
'read_gbn_gbps,read_gbn_min_gbps,read_gbn_max_gbps,read_sr_gbps,read_sr_min_gbps,read_sr_max_gbps' > "$csv.new"
for loss in ${LOSS_RATES:-0.00001 0.00003 0.0001 0.0003 0.001 0.002 0.003 0.005 0.01 0.02 0.03 0.05 0.1}; do
	formula=$(awk "BEGIN { printf \"%.2f\", $clean / (1 + $loss * $w) }")
	writes=$(of_seeds gbn "$loss"),$(of_seeds sr "$loss")
	reads=$(of_seeds gbn "$loss" --trace "$dir/read.trace"),$(of_seeds sr "$loss" --trace "$dir/read.trace")
	echo "$loss,$w,$formula,$writes,$reads" >> "$csv.new"
done
mv "$csv.new" "$csv"
