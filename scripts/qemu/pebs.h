/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor with counters of memory accesses, and PEBS. See pebs.c. */
#ifndef I386_TCG_PEBS_H
#define I386_TCG_PEBS_H

#include "cpu.h"

/* Instructions in a turn of a CPU with -icount at most, or 0. */
extern uint32_t icount_turn;

/* Of a CPU with X86CPU::pebs, the format, which is 3 or 4. */
void pebs_realize(X86CPU *cpu, Error **errp);
void pebs_reset(CPUX86State *env);

/* CPUID: what differs from a processor without. */
void pebs_cpuid(X86CPU *cpu, uint32_t leaf, uint32_t *eax, uint32_t *ebx,
                uint32_t *ecx, uint32_t *edx);

/* Return: is it one of these registers? */
bool pebs_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
bool pebs_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);

/* Return: is there such a counter? */
bool pebs_rdpmc(CPUX86State *env, uint32_t n, uint64_t *val);

/* An instruction that is about to retire has made an access. */
void pebs_access(CPUX86State *env, target_ulong addr, bool store, int mmu_idx,
                 uintptr_t ra);

#endif
