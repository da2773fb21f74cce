#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh build OUT.mk - make sure that what rnicsim builds with is there; tell the Makefile what was found.
# install-deps.sh test STAMP   - the tools that tests check our files with.
# install-deps.sh soak STAMP   - the compiler of the fuzz targets.
#
# Missing packages are installed through apt when we are root or sudo asks no password. Otherwise, when a
# required one is missing, print the one line to run and stop; a missing optional one costs its feature only.
set -eu
mode=$1
out=$2

has_header() { echo "#include <$1>" | ${CC:-gcc} -E -x c - >/dev/null 2>&1; }
has_command() { command -v "$1" >/dev/null 2>&1; }
verilator_include=${VERILATOR_ROOT:-/usr/share/verilator}/include
has_rtl() { has_command verilator && has_command "${CXX:-g++}" && [ -f "$verilator_include/verilated.cpp" ]; }
has_scapy() { python3 -c 'import scapy' 2>/dev/null || /usr/bin/python3 -c 'import scapy' 2>/dev/null; }
has_fst() { [ -f "$verilator_include/gtkwave/fstapi.c" ]; }

missing_required() {
	[ "$mode" = build ] || return 0
	has_command "${CC:-gcc}" || echo gcc libc6-dev
	has_header ini.h || echo libinih-dev
	has_header zlib.h || echo zlib1g-dev
	has_header libdeflate.h || echo libdeflate-dev
	has_header jansson.h || echo libjansson-dev
	has_header CUnit/CUnit.h || echo libcunit1-dev
}

missing_optional() {
	if [ "$mode" = test ]; then
		has_command fst2vcd || echo gtkwave
		has_command tshark || echo tshark
		has_scapy || echo python3-scapy
	elif [ "$mode" = soak ]; then
		has_command clang || echo clang
	elif [ -z "${NO_RTL:-}" ]; then
		has_command "${CXX:-g++}" || echo g++
		{ has_command verilator && has_fst; } || echo verilator
	fi
}

find_root() {
	has_command apt-get || return 1
	if [ "$(id -u)" = 0 ]; then
		as=
	elif sudo -n true 2>/dev/null; then
		as=sudo
	else
		return 1
	fi
}

install() {
	echo "installing: $*"
	$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

required=$(missing_required)
optional=$(missing_optional)
if [ -n "$required$optional" ] && find_root; then
	$as apt-get update -qq >/dev/null 2>&1 || true
	# the required ones first: an optional one that cannot be had must not cost them
	# shellcheck disable=SC2086
	for packages in "$required" "$optional"; do
		[ -z "$packages" ] || install $packages || true
	done
	required=$(missing_required)
	optional=$(missing_optional)
fi
if [ -n "$required" ]; then
	echo "rnicsim needs some packages. Run this, then make again:" >&2
	# shellcheck disable=SC2086
	echo "  sudo apt-get install --no-install-recommends" $required $optional >&2
	exit 1
fi
# shellcheck disable=SC2086
[ -z "$optional" ] || echo "not installed (what needs them is left out):" $optional

mkdir -p "$(dirname "$out")"
{
	if [ "$mode" = build ] && [ -z "${NO_RTL:-}" ]; then
		has_rtl && echo "VERILATOR_INC := $verilator_include"
		has_fst && echo "FST_DIR := $verilator_include/gtkwave"
	fi
	true
} >"$out.new"
mv "$out.new" "$out"
