# SPDX-License-Identifier: Apache-2.0
# make demo, make test: each works as the first command. Others: all bench soak lint clean.
# V=1 shows whole commands; NO_RTL=1 builds without Verilator; BUILD=dir puts objects elsewhere.

BUILD ?= build
CC ?= gcc
CXX ?= g++
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)	$(2)")

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CPPFLAGS += -I. -D_GNU_SOURCE -MMD -MP
CFLAGS += -std=gnu11 -g $(WARN) -Wstrict-prototypes
CXXFLAGS += -std=c++17 -g $(WARN)
LDLIBS := -linih -lz -ldeflate -ljansson -lpthread
OPT := -O3 -fno-plt
SAN := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

all: $(BUILD)/rnicsim

# What the machine has; making this file installs what is missing, then make starts over with it.
ifneq ($(MAKECMDGOALS),clean)
include $(BUILD)/config.mk
endif
$(BUILD)/config.mk: tools/install-deps.sh
	$(Q)mkdir -p $(BUILD)
	$(Q)NO_RTL=$(NO_RTL) tools/install-deps.sh $@

# ---- sources: found, not listed ----
LIB_SRC := $(filter-out sim/main.c,$(wildcard sim/*.c)) $(wildcard models/*.c)
TEST_SRC := $(wildcard testbench/*.c)
ifdef FST_DIR
CPPFLAGS += -DHAVE_FST -isystem $(FST_DIR)
FST_SRC := fstapi lz4 fastlz
else
LIB_SRC := $(filter-out sim/wave_fst.c,$(LIB_SRC))
endif
ifdef HAVE_RTL
RTL_BLOCKS := $(patsubst rtl/host/%_rtl.cpp,%,$(wildcard rtl/host/*_rtl.cpp))
RTL_LIBS := $(RTL_BLOCKS:%=$(BUILD)/verilated/%/libV%.a)
CPPFLAGS += -DHAVE_RTL
LINK := $(CXX)
else
LINK := $(CC)
endif

objects = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2)) $(FST_SRC:%=$(BUILD)/$(1)/fst/%.o) \
	$(RTL_BLOCKS:%=$(BUILD)/$(1)/rtl/host/%_rtl.o) $(RTL_LIBS)

$(BUILD)/rnicsim: $(call objects,opt,$(LIB_SRC) sim/main.c)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(LDFLAGS) -o $@ $(filter %.o,$^) $(if $(RTL_LIBS),$(RTL_LIBS) $(BUILD)/verilated/verilated.o) $(LDLIBS)
$(BUILD)/rnicsim-san: $(call objects,san,$(LIB_SRC) sim/main.c)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(LDFLAGS) $(SAN) -o $@ $(filter %.o,$^) $(if $(RTL_LIBS),$(RTL_LIBS) $(BUILD)/verilated/verilated.o) $(LDLIBS)
$(BUILD)/rnicsim-test: $(call objects,san,$(LIB_SRC) $(TEST_SRC))
	$(call say,LINK,$@)
	$(Q)$(LINK) $(LDFLAGS) $(SAN) -o $@ $(filter %.o,$^) $(if $(RTL_LIBS),$(RTL_LIBS) $(BUILD)/verilated/verilated.o) $(LDLIBS) -lcunit

define variant
$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(CPPFLAGS) $$(CFLAGS) $(2) -c -o $$@ $$<
$(BUILD)/$(1)/fst/%.o: $(FST_DIR)/%.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$(<F))
	$$(Q)$$(CC) -w -O2 -I$(FST_DIR) -DFST_CONFIG_INCLUDE='"fst_config.h"' -c -o $$@ $$<
$(BUILD)/$(1)/rtl/host/%_rtl.o: rtl/host/%_rtl.cpp $(BUILD)/verilated/%/libV%.a
	@mkdir -p $$(@D)
	$$(call say,CXX,$$<)
	$$(Q)$$(CXX) $$(CPPFLAGS) $$(CXXFLAGS) $(2) -isystem $(BUILD)/verilated/$$* \
		-isystem $(VERILATOR_INC) -isystem $(VERILATOR_INC)/vltstd -c -o $$@ $$<
endef
$(eval $(call variant,opt,$(OPT)))
$(eval $(call variant,san,$(SAN)))

clean:
	rm -rf $(BUILD) out

.PHONY: all demo test bench soak lint clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
