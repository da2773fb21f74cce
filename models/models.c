/* SPDX-License-Identifier: Apache-2.0 */
/*
 * models.c - the block classes (listed in blocks.def and rtl/twins.def)
 */
#include "sim/command.h"

#define BLOCK(name) extern const struct block_class name##_class;
#include "models/blocks.def"
#undef BLOCK
#ifdef HAVE_RTL
#define TWIN(name) extern const struct block_class name##_rtl_class;
#include "rtl/twins.def"
#undef TWIN
#endif

const struct block_class *const block_classes[] = {
#define BLOCK(name) &name##_class,
#include "models/blocks.def"
#undef BLOCK
#ifdef HAVE_RTL
#define TWIN(name) &name##_rtl_class,
#include "rtl/twins.def"
#undef TWIN
#endif
	NULL
};
