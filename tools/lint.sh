#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh MSG_PKG.sv HDR_PKG.sv - layout, static checks of the C and of each Verilog module alone (clang-tidy: see the Makefile).
#
# A tool that is missing costs one line, not the target. Exit status 1 when anything was found.
set -u
msg_pkg=$1
hdr_pkg=$2
status=0

has() {
	command -v "$1" >/dev/null 2>&1 || { echo "lint: $1 is not installed: left out"; return 1; }
}
found() {
	echo "lint: $1 found something"
	status=1
}

if has clang-format; then
	clang-format --dry-run -Werror ./*/*.[ch] models/*/*.[ch] tools/*/*.[ch] testbench/bench/*.c testbench/fuzz/*.[ch] rtl/host/*.[ch]pp || found clang-format
fi

if has cppcheck; then
	# its checks across files take two functions of one name for one, and gcc knows more of printf
	cppcheck -q --enable=warning,performance,portability --std=c11 --error-exitcode=1 -I. -D_GNU_SOURCE \
		--suppress=missingInclude --suppress=unknownMacro --suppress=ctuuninitvar --suppress=ctuPointerArith \
		--suppress=invalidPrintfArgType_uint --suppress=internalAstError \
		./*/*.c models/*/*.c tools/*/*.c testbench/bench/*.c testbench/fuzz/*.c || found cppcheck
fi

has clang-tidy
if has verilator; then
	verilator --lint-only -Wall rtl/lint.vlt "$hdr_pkg" || found verilator
	for file in rtl/*.sv; do
		verilator --lint-only -Wall rtl/lint.vlt "$msg_pkg" -Irtl "$file" --top-module "$(basename "$file" .sv)" ||
			found verilator
	done
fi

if has shellcheck; then
	shellcheck tools/*.sh testbench/*.sh testbench/bench/*.sh testbench/fuzz/*.sh .ci/run || found shellcheck
fi
exit $status
