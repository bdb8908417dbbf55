/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM psi

#if !defined(_TRACE_PSI_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PSI_H

#include <linux/math64.h>
#include <linux/tracepoint.h>

/*
 * Names, fields and their order are stable; Documentation/accounting/psi.rst describes
 * them. A group is the id of its cgroup; 1 is the system.
 */

TRACE_EVENT(psi_stall_begin,
	    TP_PROTO(u64 group, pid_t pid, const char *cause),
	    TP_ARGS(group, pid, cause),
	    TP_STRUCT__entry(__field(u64, group)
			     __field(pid_t, pid)
			     __string(cause, cause)),
	    TP_fast_assign(__entry->group = group;
			   __entry->pid = pid;
			   __assign_str(cause);),
	    TP_printk("group=%llu pid=%d cause=%s", __entry->group, __entry->pid,
		      __get_str(cause))
);

TRACE_EVENT(psi_stall_end,
	    TP_PROTO(u64 group, pid_t pid, const char *cause, u64 duration_ns),
	    TP_ARGS(group, pid, cause, duration_ns),
	    TP_STRUCT__entry(__field(u64, group)
			     __field(pid_t, pid)
			     __string(cause, cause)
			     __field(u64, duration_us)),
	    TP_fast_assign(__entry->group = group;
			   __entry->pid = pid;
			   __assign_str(cause);
			   __entry->duration_us = div_u64(duration_ns, NSEC_PER_USEC);),
	    TP_printk("group=%llu pid=%d cause=%s duration_us=%llu", __entry->group,
		      __entry->pid, __get_str(cause), __entry->duration_us)
);

DECLARE_EVENT_CLASS(psi_trigger,
		    TP_PROTO(u64 group, const char *state, u64 growth_ns, u64 threshold_ns,
			     u64 window_ns),
		    TP_ARGS(group, state, growth_ns, threshold_ns, window_ns),
		    TP_STRUCT__entry(__field(u64, group)
				     __string(state, state)
				     __field(u64, growth_us)
				     __field(u64, threshold_us)
				     __field(u64, window_us)),
		    TP_fast_assign(__entry->group = group;
				   __assign_str(state);
				   __entry->growth_us = div_u64(growth_ns, NSEC_PER_USEC);
				   __entry->threshold_us = div_u64(threshold_ns,
								   NSEC_PER_USEC);
				   __entry->window_us = div_u64(window_ns, NSEC_PER_USEC);),
		    TP_printk("group=%llu state=%s growth_us=%llu threshold_us=%llu window_us=%llu",
			      __entry->group, __get_str(state), __entry->growth_us,
			      __entry->threshold_us, __entry->window_us)
);

DEFINE_EVENT(psi_trigger, psi_trigger_look,
	     TP_PROTO(u64 group, const char *state, u64 growth_ns, u64 threshold_ns,
		      u64 window_ns),
	     TP_ARGS(group, state, growth_ns, threshold_ns, window_ns));

DEFINE_EVENT(psi_trigger, psi_trigger_fire,
	     TP_PROTO(u64 group, const char *state, u64 growth_ns, u64 threshold_ns,
		      u64 window_ns),
	     TP_ARGS(group, state, growth_ns, threshold_ns, window_ns));

#endif /* _TRACE_PSI_H */

#include <trace/define_trace.h>
