#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# soak.sh BUILD - random workloads over bad wires, with sanitizers, for SOAK_MINUTES (10) from seed SOAK_SEED (1).
#
# Each is run in three orders of steps, with waves, and every other one, with translations one at a time, with the
# Verilog twins: results must be byte-identical. A failure prints the commands that show it again.
set -eu
rnicsim=$1/rnicsim-san
dir=$1/soak
seed=${SOAK_SEED:-1}
end=$(($(date +%s) + ${SOAK_MINUTES:-10} * 60))
mkdir -p "$dir"
printf '[scenario]\ntrace = soak.trace\n' > "$dir/soak.ini"

# pick N VALUE...: one of the values, chosen by digit N of the seed
pick() {
	shift $((seed / $1 % ($# - 1) + 1))
	echo "$1"
}

# play NAME OPTION...: status 0, or 1 when a request gave up on so bad a wire
play() {
	name=$1
	shift
	status=0
	timeout 600 "$rnicsim" run "$dir/soak.ini" -o "$dir/$name" --seed "$seed" "$@" > "$dir/$name.out" 2>&1 || status=$?
	if [ $status -gt 1 ]; then
		cat "$dir/$name.out" >&2
		fail "status $status" "$@"
	fi
}

fail() {
	what=$1
	shift
	echo "soak: seed $seed: $what; again with:" >&2
	echo "  $rnicsim trace gen $gen -o $dir/soak.trace" >&2
	echo "  $rnicsim run $dir/soak.ini -o $dir/again --seed $seed $*" >&2
	exit 1
}

all_ways="reversed shuffled wave"
has_rtl=$("$rnicsim" describe mtt | grep -c 'Implementations: c, rtl' || true)
runs=0
while [ "$(date +%s)" -lt "$end" ]; do
	ops=$(pick 1 write read send cas,faa write=3,read=2,send=2,write_imm,send_imm,cas,faa read=5,write write_imm,send)
	size=$(pick 7 64 1,64,4KiB 0,1,1023,1024,1025 256KiB 8 4095,4096,4097)
	gen="--ops $ops --size $size --qps $(pick 3 1 2 7 40) --window $(pick 5 1 4 16 64) --mtu $(pick 2 1024 256 4096)"
	gen="$gen --inline $(pick 11 0 64 300) --count 400 --seed $seed"
	loss=$(pick 13 0 1e-4 1e-3 1e-2 5e-2)
	set -- --set "link0.loss=$loss" --set "link0.corrupt=$(pick 17 0 1e-3 1e-2)" \
		--set "link0.duplicate=$(pick 19 0 1e-3 1e-2)" --set "link0.reorder=$(pick 23 0 1e-3 1e-2)"
	ways=$all_ways
	if [ $((seed % 2)) = 0 ] && [ "$has_rtl" = 1 ]; then # the Verilog does one at a time
		ways="$ways rtl"
		set -- "$@" --set mtt.window=1 --set mtt.line=8
	fi
	# shellcheck disable=SC2086
	"$rnicsim" trace gen $gen -o "$dir/soak.trace"
	play forward "$@"
	for how in $ways; do
		case $how in
		wave) option="--wave $dir/soak.vcd --pcap $dir/soak.pcapng" ;;
		rtl) option="--set mtt.impl=rtl" ;;
		*) option="--order $how" ;;
		esac
		# shellcheck disable=SC2086
		play "$how" "$@" $option
		for file in summary.json ops.csv recvs.csv; do
			cmp -s "$dir/forward/$file" "$dir/$how/$file" || fail "$file differs" "$@" "$option"
		done
	done
	runs=$((runs + 1))
	seed=$((seed + 1))
done
echo "soak: $runs workloads, seeds ${SOAK_SEED:-1} to $((seed - 1)), each also $all_ways: all the same"
