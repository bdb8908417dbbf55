/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ksamplingd
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ksamplingd_promote

#if !defined(_TRACE_KSAMPLINGD_PROMOTE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KSAMPLINGD_PROMOTE_H

#include <linux/tracepoint.h>

TRACE_EVENT(ksamplingd_promote,
	    TP_PROTO(unsigned long pfn, unsigned int order, int nid, int to_nid, u32 heat,
		     unsigned int tries),
	    TP_ARGS(pfn, order, nid, to_nid, heat, tries),
	    TP_STRUCT__entry(__field(unsigned long, pfn)
			     __field(unsigned int, order)
			     __field(int, nid)
			     __field(int, to_nid)
			     __field(u32, heat)
			     __field(unsigned int, tries)),
	    TP_fast_assign(__entry->pfn = pfn;
			   __entry->order = order;
			   __entry->nid = nid;
			   __entry->to_nid = to_nid;
			   __entry->heat = heat;
			   __entry->tries = tries;),
	    TP_printk("pfn=0x%lx order=%u nid=%d to_nid=%d heat=%u tries=%u", __entry->pfn,
		      __entry->order, __entry->nid, __entry->to_nid, __entry->heat,
		      __entry->tries)
);

#endif /* _TRACE_KSAMPLINGD_PROMOTE_H */

#include <trace/define_trace.h>
