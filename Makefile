# SPDX-License-Identifier: Apache-2.0
# make demo, make test: each works as the first command. Others: all bench soak lint figures clean.
# V=1 shows whole commands; NO_RTL=1 builds without Verilator (no RTL, no FST); BUILD=dir puts objects elsewhere.

BUILD ?= build
OUT ?= out
CC ?= gcc
CXX ?= g++
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)	$(2)")

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CPPFLAGS += -I. -D_GNU_SOURCE -MMD -MP
CFLAGS += -std=gnu11 -g $(WARN) -Wstrict-prototypes
CXXFLAGS += -std=c++17 -g $(WARN)
LDLIBS := -linih -lz -ldeflate -ljansson -lpthread -lm
OPT := -O3 -fno-plt
CUNIT := -Wl,--no-as-needed -lcunit
SAN := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

all: $(BUILD)/rnicsim

# What the machine has; making this file installs what is missing, then make starts over with it.
CONFIG := $(BUILD)/config$(if $(NO_RTL),-no-rtl).mk
ifneq ($(filter-out clean,$(or $(MAKECMDGOALS),all)),)
include $(CONFIG)
endif
$(CONFIG): tools/install-deps.sh
	$(Q)CC="$(CC)" CXX="$(CXX)" NO_RTL=$(NO_RTL) tools/install-deps.sh build $@
ifneq ($(wildcard $(CONFIG)),)
$(if $(NO_RTL),$(info NO_RTL=1: no Verilog blocks, waveforms as .vcd only))
endif

# ---- sources: found, not listed; objects of different kinds of build do not mix ----
LIB_SRC := $(filter-out sim/main.c,$(wildcard sim/*.c)) $(wildcard models/*.c models/*/*.c tools/*/*.c)
FUZZ_SRC := $(filter-out testbench/fuzz/fuzz_main.c,$(wildcard testbench/fuzz/*.c))
TEST_SRC := $(wildcard testbench/*.c) $(FUZZ_SRC)
VLT := $(BUILD)/verilated
ifdef FST_DIR
CPPFLAGS += -DHAVE_FST -isystem $(FST_DIR)
FST_OBJ := $(patsubst %,$(BUILD)/fst/%.o,fstapi lz4 fastlz)
else
LIB_SRC := $(filter-out sim/wave_fst.c,$(LIB_SRC))
endif
ifdef VERILATOR_INC
CPPFLAGS += -DHAVE_RTL
RTL_BLOCKS := $(patsubst rtl/host/%_rtl.cpp,%,$(wildcard rtl/host/*_rtl.cpp))
RTL_OBJ := $(foreach b,$(RTL_BLOCKS),$(VLT)/$(b)/V$(b)__ALL.a) $(VLT)/verilated.o $(VLT)/verilated_threads.o
LINK := $(CXX)
else
LINK := $(CC)
endif
KIND := $(if $(VERILATOR_INC),-rtl)$(if $(FST_DIR),-fst)

objects = $(patsubst %.c,$(BUILD)/$(1)$(KIND)/%.o,$(2)) $(RTL_BLOCKS:%=$(BUILD)/$(1)$(KIND)/rtl/host/%_rtl.o) $(FST_OBJ) $(RTL_OBJ)
define link
	$(call say,LINK,$@)
	$(Q)$(LINK) $(LDFLAGS) $(1) -o $@ $(filter %.o %.a,$^) $(LDLIBS)
endef

$(BUILD)/rnicsim: $(call objects,opt,$(LIB_SRC) sim/main.c) $(BUILD)/kind
	$(call link)
$(BUILD)/rnicsim-san: $(call objects,san,$(LIB_SRC) sim/main.c) $(BUILD)/kind
	$(call link,$(SAN))
$(BUILD)/rnicsim-test: $(call objects,san,$(LIB_SRC) $(TEST_SRC)) $(BUILD)/kind
	$(call link,$(SAN) $(CUNIT))
$(BUILD)/rnicsim-test-opt: $(call objects,opt,$(LIB_SRC) $(TEST_SRC)) $(BUILD)/kind
	$(call link,$(CUNIT))
KERNEL_SRC := $(filter-out sim/describe%,$(filter sim/%,$(LIB_SRC))) testbench/bench/kernel.c
$(BUILD)/bench-kernel: $(patsubst %.c,$(BUILD)/opt$(KIND)/%.o,$(KERNEL_SRC)) $(FST_OBJ) $(BUILD)/kind
	$(call link)
# of which kind the programs are: another kind links them anew
$(BUILD)/kind: FORCE
	$(Q)echo '$(KIND)' | cmp -s - $@ || echo '$(KIND)' > $@

define variant
$(BUILD)/$(1)$(KIND)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(CPPFLAGS) $$(CFLAGS) $(2) -c -o $$@ $$<
$(BUILD)/$(1)$(KIND)/rtl/host/%_rtl.o: rtl/host/%_rtl.cpp $(RTL_OBJ)
	@mkdir -p $$(@D)
	$$(call say,CXX,$$<)
	$$(Q)$$(CXX) $$(CPPFLAGS) $$(CXXFLAGS) $(2) -isystem $(VLT)/$$* -isystem $(VERILATOR_INC) -isystem $(VERILATOR_INC)/vltstd -c -o $$@ $$<
endef
$(eval $(call variant,opt,$(OPT)))
$(eval $(call variant,san,$(SAN)))

# ---- device presets, line by line, in the program ----
$(BUILD)/profiles/profiles.inc: $(sort $(wildcard models/profiles/*.ini))
	@mkdir -p $(@D)
	$(Q)for f in $^; do n=$${f##*/}; sed 's/[\\"]/\\&/g; s/.*/{ "'$${n%.ini}'", "&\\n" },/' $$f; done > $@.new && mv $@.new $@
PROFILE_OBJ := $(foreach k,opt$(KIND) san$(KIND) fuzz,$(BUILD)/$(k)/tools/run/profile.o) $(BUILD)/lint/tools/run/profile
$(PROFILE_OBJ): $(BUILD)/profiles/profiles.inc
$(PROFILE_OBJ): CPPFLAGS += -I$(BUILD)/profiles

$(BUILD)/fst/%.o: $(FST_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$(<F))
	$(Q)$(CC) -w -O2 -I$(FST_DIR) -DFST_CONFIG_INCLUDE='"fst_config.h"' -c -o $@ $<

# ---- fuzz targets: clang's libFuzzer, without Verilog; `make soak` runs them where clang is ----
FUZZ := $(patsubst testbench/fuzz/fuzz_%.c,%,$(filter testbench/fuzz/fuzz_%.c,$(FUZZ_SRC)))
# Readers and packets have their comparisons traced. Hardware compares times and places at every cycle, of which nothing is learnt.
FUZZ_TRACED := models/trace/% models/packet/% $(addprefix sim/,config% gz_in.c record% value.c) tools/% testbench/%
FUZZ_FLAGS := -O2 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)clang -std=gnu11 -g $(filter-out -DHAVE_RTL -DHAVE_FST,$(CPPFLAGS)) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link \
		$(if $(filter $(FUZZ_TRACED),$<),,-fno-sanitize-coverage=trace-cmp) -c -o $@ $<
$(BUILD)/fuzz-%: testbench/fuzz/fuzz_main.c $(patsubst %.c,$(BUILD)/fuzz/%.o,$(filter-out sim/wave_fst.c,$(LIB_SRC)) $(FUZZ_SRC))
	$(call say,LINK,$@)
	$(Q)clang -std=gnu11 -g -I. $(FUZZ_FLAGS) -fsanitize=fuzzer -DFUZZ_TARGET=fuzz_$* -o $@ $^ $(LDLIBS)

# ---- SystemVerilog twins: the package of messages from models/msg.def, then one library a block ----
$(VLT)/msg_sv: tools/msg_sv.c sim/describe_sv.c tools/run/msg_list.c tools/run/hdr_sv.c models/packet/hdr.c models/packet/opcode.c \
		models/msg.def models/msg.h models/nic.h models/packet/hdr.def
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -I. -o $@ $(filter %.c,$^)
$(VLT)/msg_pkg.sv: $(VLT)/msg_sv
	$(Q)$< > $@.new && mv $@.new $@
$(VLT)/hdr_pkg.sv: $(VLT)/msg_sv
	$(Q)$< hdr > $@.new && mv $@.new $@
define rtl_block
$(VLT)/$(1)/V$(1)__ALL.a: rtl/$(1).sv $(wildcard rtl/rnic_*.sv) rtl/lint.vlt $(VLT)/msg_pkg.sv
	$$(call say,RTL,$$<)
	$$(Q)MAKEFLAGS= verilator --cc --build -Wall -O3 --x-assign 0 --x-initial 0 -MAKEFLAGS 'OPT_FAST=-O3 OPT_SLOW=-O1' --Mdir $$(@D) \
		--prefix V$(1) --top-module $(1) rtl/lint.vlt $(VLT)/msg_pkg.sv -Irtl $$< >/dev/null
endef
$(foreach b,$(RTL_BLOCKS),$(eval $(call rtl_block,$(b))))
$(VLT)/%.o: $(VERILATOR_INC)/%.cpp
	@mkdir -p $(@D)
	$(call say,CXX,$(<F))
	$(Q)$(CXX) -std=c++17 -w -O2 -I$(VERILATOR_INC) -I$(VERILATOR_INC)/vltstd -c -o $@ $<

# ---- what to do with it ----
demo: $(BUILD)/rnicsim
	$(BUILD)/rnicsim run traces/demo.ini -o $(OUT)/demo --wave $(OUT)/demo/demo.$(if $(FST_DIR),fst,vcd) \
		--pcap $(OUT)/demo/demo.pcapng --timeline $(OUT)/demo/timeline.json
test: $(BUILD)/rnicsim-test $(BUILD)/rnicsim $(BUILD)/rnicsim-san $(BUILD)/test-tools
	$(BUILD)/rnicsim-test
$(BUILD)/%-tools: tools/install-deps.sh
	$(Q)tools/install-deps.sh $* $@
bench: $(BUILD)/bench-kernel $(BUILD)/rnicsim
	$(Q)testbench/bench/bench.sh $(BUILD)
soak: $(BUILD)/rnicsim-san $(BUILD)/rnicsim-test $(BUILD)/rnicsim-test-opt $(BUILD)/soak-tools
	$(Q)testbench/fuzz/fuzz.sh $(BUILD) $(FUZZ)
	$(Q)testbench/soak.sh $(BUILD)
	$(Q)RNICSIM_PROPERTY_RUNS=$(or $(SOAK_RUNS),100000) $(BUILD)/rnicsim-test-opt property
	$(Q)RNICSIM_PROPERTY_RUNS=5000 RNICSIM_PROPERTY_SEED=1000001 RNICSIM_DETERMINISM_RUNS=1000 RNICSIM_STALL_RUNS=2000 \
		$(BUILD)/rnicsim-test property determinism stalls
	@echo "soak: everything passed"
# clang-tidy takes minutes for the whole tree: it looks again at what changed since it last passed
LINTED := $(if $(shell command -v clang-tidy),$(patsubst %.c,$(BUILD)/lint/%,$(LIB_SRC) $(TEST_SRC) $(wildcard testbench/bench/*.c tools/*.c)))
$(BUILD)/lint/%: %.c .clang-tidy $(wildcard */*.h */*/*.h */*.def)
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)clang-tidy --quiet $< -- -std=gnu11 $(filter-out -M%,$(CPPFLAGS)) 2>/dev/null && touch $@
lint: $(LINTED) $(VLT)/msg_pkg.sv $(VLT)/hdr_pkg.sv
	$(Q)tools/lint.sh $(VLT)/msg_pkg.sv $(VLT)/hdr_pkg.sv
figures: demo
	$(Q)tools/loss-curve.sh $(BUILD)/rnicsim $(OUT)/figures/loss.csv
	$(Q)tools/figures.sh $(OUT)/demo $(OUT)/figures
clean:
	rm -rf $(BUILD) $(OUT)

FORCE:
.PHONY: all demo test bench soak lint figures clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(BUILD)/opt$(KIND) $(BUILD)/san$(KIND) $(BUILD)/fuzz -name '*.d' 2>/dev/null)
