/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ksamplingd

#if !defined(_TRACE_KSAMPLINGD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KSAMPLINGD_H

#include <linux/tracepoint.h>

TRACE_EVENT(ksamplingd_sample,
	    TP_PROTO(u32 pid, u32 tid, u64 addr, u64 phys, unsigned int discarded),
	    TP_ARGS(pid, tid, addr, phys, discarded),
	    TP_STRUCT__entry(__field(u32, pid)
			     __field(u32, tid)
			     __field(u64, addr)
			     __field(u64, phys)
			     __field(unsigned int, discarded)),
	    TP_fast_assign(__entry->pid = pid;
			   __entry->tid = tid;
			   __entry->addr = addr;
			   __entry->phys = phys;
			   __entry->discarded = discarded;),
	    TP_printk("pid=%u tid=%u addr=0x%llx phys=0x%llx discarded=%u", __entry->pid,
		      __entry->tid, __entry->addr, __entry->phys, __entry->discarded)
);

TRACE_EVENT(ksamplingd_lost,
	    TP_PROTO(int cpu, u64 records),
	    TP_ARGS(cpu, records),
	    TP_STRUCT__entry(__field(int, cpu)
			     __field(u64, records)),
	    TP_fast_assign(__entry->cpu = cpu;
			   __entry->records = records;),
	    TP_printk("cpu=%d records=%llu", __entry->cpu, __entry->records)
);

TRACE_EVENT(ksamplingd_window,
	    TP_PROTO(u32 now_ppm, u32 use_ppm, u32 sleep_us, u32 rounds),
	    TP_ARGS(now_ppm, use_ppm, sleep_us, rounds),
	    TP_STRUCT__entry(__field(u32, now_ppm)
			     __field(u32, use_ppm)
			     __field(u32, sleep_us)
			     __field(u32, rounds)),
	    TP_fast_assign(__entry->now_ppm = now_ppm;
			   __entry->use_ppm = use_ppm;
			   __entry->sleep_us = sleep_us;
			   __entry->rounds = rounds;),
	    TP_printk("now_ppm=%u use_ppm=%u sleep_us=%u rounds=%u", __entry->now_ppm,
		      __entry->use_ppm, __entry->sleep_us, __entry->rounds)
);

TRACE_EVENT(ksamplingd_period,
	    TP_PROTO(u32 loads, u32 stores),
	    TP_ARGS(loads, stores),
	    TP_STRUCT__entry(__field(u32, loads)
			     __field(u32, stores)),
	    TP_fast_assign(__entry->loads = loads;
			   __entry->stores = stores;),
	    TP_printk("loads=%u stores=%u", __entry->loads, __entry->stores)
);

#endif /* _TRACE_KSAMPLINGD_H */

#include <trace/define_trace.h>
