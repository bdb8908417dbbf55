/* SPDX-License-Identifier: GPL-2.0 */
/* The past of promoted pages. See promote_past.c. */
#ifndef _MM_KSAMPLINGD_PROMOTE_PAST_H
#define _MM_KSAMPLINGD_PROMOTE_PAST_H

#include <linux/types.h>

#include "promote_plan.h"

struct ks_past ks_past_of(unsigned long pfn);
struct ks_past ks_past_take(unsigned long pfn);
void ks_past_give(unsigned long pfn, struct ks_past p);
void ks_past_sweep(u64 now_s);
void ks_past_drop_all(void);
unsigned long ks_past_bytes(void);

#endif /* _MM_KSAMPLINGD_PROMOTE_PAST_H */
