#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh OUT.mk - make sure that what rnicsim builds with is there, and tell the Makefile what it found.
#
# Missing packages are installed through apt when we are root or sudo asks no password. Otherwise, when a
# required one is missing, print the one line to run and stop; a missing optional one costs its feature only.
set -eu
out=$1

has_header() { echo "#include <$1>" | ${CC:-gcc} -E -x c - >/dev/null 2>&1; }
has_command() { command -v "$1" >/dev/null 2>&1; }
verilator_gtkwave() { echo "${VERILATOR_ROOT:-/usr/share/verilator}/include/gtkwave"; }

missing_required() {
	has_header ini.h || echo libinih-dev
	has_header zlib.h || echo zlib1g-dev
	has_header libdeflate.h || echo libdeflate-dev
	has_header jansson.h || echo libjansson-dev
	has_header CUnit/CUnit.h || echo libcunit1-dev
}

missing_optional() {
	[ -z "${NO_RTL:-}" ] || return 0
	has_command g++ || echo g++
	has_command verilator && [ -f "$(verilator_gtkwave)/fstapi.c" ] || echo verilator
	has_command fst2vcd || echo gtkwave
	has_command tshark || echo tshark
	has_command python3 || echo python3
}

install() {
	if [ "$(id -u)" = 0 ]; then
		as=
	elif sudo -n true 2>/dev/null; then
		as=sudo
	else
		return 1
	fi
	echo "installing: $*"
	$as apt-get update -qq >/dev/null 2>&1 || true
	$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

required=$(missing_required)
optional=$(missing_optional)
if [ -n "$required$optional" ] && has_command apt-get; then
	# shellcheck disable=SC2086
	install $required $optional || true
	required=$(missing_required)
	optional=$(missing_optional)
fi
if [ -n "$required" ]; then
	echo "rnicsim needs some packages. Run this, then make again:" >&2
	echo "  sudo apt-get install --no-install-recommends" $required $optional >&2
	exit 1
fi
[ -z "$optional" ] || echo "not installed (their features are left out):" $optional

mkdir -p "$(dirname "$out")"
{
	if [ -z "${NO_RTL:-}" ] && has_command verilator && has_command g++; then
		echo "HAVE_RTL := yes"
		echo "VERILATOR_INC := $(dirname "$(verilator_gtkwave)")"
	fi
	if [ -z "${NO_RTL:-}" ] && [ -f "$(verilator_gtkwave)/fstapi.c" ]; then
		echo "FST_DIR := $(verilator_gtkwave)"
	fi
} >"$out.new"
mv "$out.new" "$out"
