/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_stream.h - rows that several kinds of stream records share
 */
#ifndef MODELS_TRACE_TRACE_STREAM_H
#define MODELS_TRACE_TRACE_STREAM_H

#include "models/trace/trace_reader.h"

record_call trace_call_qp, trace_call_qp_or_srq, trace_call_after;

/*
 * at, after, delay: when a record happens. The first of them is the row that trace_check_when asks
 * about.
 */
#define TRACE_ROWS_WHEN \
	RECORD_ROW_TIME(struct trace_record, at_ps, "at", 0, 0), \
		RECORD_ROW_CALL("after", trace_call_after, "must be a list of ID or HOST:ID", 0), \
		RECORD_ROW_TIME(struct trace_record, delay_ps, "delay", 0, 0)

bool trace_check_when(const struct record_reader *rec, const struct trace_record *r, bool has_at,
		      struct err *e);

#endif
