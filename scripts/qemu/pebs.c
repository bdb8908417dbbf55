// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor with PEBS, as far as Linux's perf driver needs one.
 *
 * Four counters can count loads that retire, loads that miss the last-level cache
 * and stores. One that wraps with PEBS on writes a record with the data address into
 * the debug store, by itself; when that is full up to a threshold, or when a counter
 * without PEBS wraps, there is a performance monitoring interrupt. Format 3 is that of
 * Skylake-X, format 4 that of Ice Lake-X.
 *
 * The cache is a simple one: lines of 64 bytes by their physical address, four ways,
 * the least recently used one goes, shared by all CPUs. It does not keep anything; it
 * only says what would have missed.
 *
 * What is counted: one load and one store at most for each instruction, by the first
 * byte of the first such access, and again for each repetition of a string
 * instruction. What is not: accesses that QEMU makes in a helper (FXSAVE, XSAVE, FLDENV
 * and the like, CMPXCHG8B/16B, MASKMOV, VGATHER, far transfers, ENTER), those of the
 * page walk, of interrupts, and of the debug store itself.
 *
 * What is different from the processor: the record is that of the access at which the
 * counter wraps, not of the one after it. Of RFLAGS, it has no arithmetic flags.
 *
 * With -icount, the CPUs take turns, and one that waits for another one in a loop waits for
 * those between, too. With pebs-turn=N a turn has N instructions at most, so that such
 * a wait is nearly as short as if the CPUs ran at the same time.
 *
 * With pebs-truth=FILE, the file has, while the machine runs, what it knows. A guest
 * can read it, too, if it is the memory of an ivshmem device.
 *
 *	0	"PEBSTRUE"
 *	8	u64 pages that follow
 *	16	u64 loads, load misses, stores of user programs
 *	40	u64 records written, records dropped because the store was full
 *	56	u64 interrupts
 *	64	u64 loads, load misses, stores of all
 *	4096	for each page of physical memory: u32 load misses, u32 stores,
 *		of user programs
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/host-utils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/cpu_ldst.h"
#include "exec/exec-all.h"
#include "hw/boards.h"
#include "hw/i386/apic.h"
#include "sysemu/runstate.h"
#include "cpu.h"
#include "../pebs.h"

#define NR_COUNTERS         4
#define COUNTER_BITS        48
#define COUNTER_MASK        MAKE_64BIT_MASK(0, COUNTER_BITS)

#define SEL_EVENT           0xffff      /* with the unit mask */
#define SEL_USR             (1 << 16)
#define SEL_OS              (1 << 17)
#define SEL_INT             (1 << 20)
#define SEL_EN              (1 << 22)

#define EVENT_LOADS         0x81d0
#define EVENT_STORES        0x82d0
#define EVENT_L3_MISSES     0x20d1

#define STATUS_BUFFER       (1ULL << 62)

#define CFG_MEMORY          1
#define CFG_REGISTERS       2

#define LINE_BITS           6
#define WAYS                4

/* In the debug store */
#define DS_PEBS             0x20
struct debug_store {
    uint64_t base, index, max, threshold;
    uint64_t reset[NR_COUNTERS];
};

enum { LOAD, LOAD_MISS, STORE, NR_KINDS };

struct PebsState {
    uint64_t evntsel[NR_COUNTERS];
    uint64_t counter[NR_COUNTERS];
    uint64_t fixed[4], fixed_ctrl;
    uint64_t status, ctrl, pebs_enable, ds_area, data_cfg, debugctl;
    bool pmi_pending;
    uint8_t counts[2][NR_KINDS];        /* at CPL 3, kind: which counters */
};

struct truth_page {
    uint32_t misses, stores;
};

struct truth {
    char magic[8];
    uint64_t pages;
    uint64_t user[NR_KINDS];
    uint64_t written, dropped, interrupts;
    uint64_t all[NR_KINDS];
};

static struct truth *truth, nobodys_truth;
static struct truth_page *truth_page;

/* Lines by set, the most recently used first. 0: none, so numbers begin with 1. */
static uint64_t (*cache)[WAYS];
static uint64_t cache_sets;

/* With one thread for all CPUs, as with -icount, there is nobody else. */
#define COUNT(what)                                                     \
    do {                                                                \
        if (qemu_tcg_mttcg_enabled()) {                                 \
            qatomic_inc(&(what));                                       \
        } else {                                                        \
            (what)++;                                                   \
        }                                                               \
    } while (0)

/* ------------------------------- Set-up ------------------------------- */

static void open_truth(const char *name, Error **errp)
{
    uint64_t pages = (current_machine->ram_size + 2 * GiB) >> TARGET_PAGE_BITS;
    size_t size = pow2ceil(TARGET_PAGE_SIZE + pages * sizeof(struct truth_page));
    void *map;
    int fd;

    fd = open(name, O_RDWR | O_CREAT, 0666);
    if (fd < 0 || ftruncate(fd, 0) || ftruncate(fd, size)) {
        error_setg_errno(errp, errno, "pebs-truth: %s", name);
        return;
    }
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        error_setg_errno(errp, errno, "pebs-truth: %s", name);
        return;
    }
    truth = map;
    truth_page = map + TARGET_PAGE_SIZE;
    truth->pages = pages;
    memcpy(truth->magic, "PEBSTRUE", 8);
}

void pebs_realize(X86CPU *cpu, Error **errp)
{
    if (cpu->pebs != 3 && cpu->pebs != 4) {
        error_setg(errp, "pebs=%u: there are formats 3 and 4", cpu->pebs);
        return;
    }
    if (!cache) {
        cache_sets = pow2floor(MAX(cpu->pebs_cache_kib, 1) * KiB /
                               (WAYS << LINE_BITS));
        cache = g_malloc0(cache_sets * sizeof(*cache));
        icount_turn = cpu->pebs_turn;
        truth = &nobodys_truth;
        if (cpu->pebs_truth) {
            open_truth(cpu->pebs_truth, errp);
        }
    }
    cpu->env.pebs = g_new0(struct PebsState, 1);
}

void pebs_reset(CPUX86State *env)
{
    memset(env->pebs, 0, sizeof(*env->pebs));
}

void pebs_cpuid(X86CPU *cpu, uint32_t leaf, uint32_t *eax, uint32_t *ebx,
                uint32_t *ecx, uint32_t *edx)
{
    switch (leaf) {
    case 1:
        *ecx |= CPUID_EXT_DTES64 | CPUID_EXT_PDCM;
        *edx |= CPUID_DTS;
        break;
    case 0xa:
        /* Version 4, and no event that all processors have. */
        *eax = 7 << 24 | COUNTER_BITS << 16 | NR_COUNTERS << 8 | 4;
        *ebx = 0x7f;
        *ecx = 0;
        *edx = COUNTER_BITS << 5 | 3;
        break;
    }
}

/* ------------------------------ Registers ------------------------------ */

/* Which counters count what, after something has changed. */
static void update(struct PebsState *p)
{
    int n, user, kind;

    memset(p->counts, 0, sizeof(p->counts));
    for (n = 0; n < NR_COUNTERS; n++) {
        if (!(p->ctrl & BIT(n)) || !(p->evntsel[n] & SEL_EN)) {
            continue;
        }
        switch (p->evntsel[n] & SEL_EVENT) {
        case EVENT_LOADS:
            kind = LOAD;
            break;
        case EVENT_L3_MISSES:
            kind = LOAD_MISS;
            break;
        case EVENT_STORES:
            kind = STORE;
            break;
        default:
            continue;
        }
        for (user = 0; user < 2; user++) {
            if (p->evntsel[n] & (user ? SEL_USR : SEL_OS)) {
                p->counts[user][kind] |= BIT(n);
            }
        }
    }
}

/* Where a register that is only stored is, or NULL. */
static uint64_t *plain(struct PebsState *p, uint32_t msr)
{
    switch (msr) {
    case 0x186 ... 0x186 + NR_COUNTERS - 1:
        return &p->evntsel[msr - 0x186];
    case 0xc1 ... 0xc1 + NR_COUNTERS - 1:
        return &p->counter[msr - 0xc1];
    case 0x4c1 ... 0x4c1 + NR_COUNTERS - 1:
        return &p->counter[msr - 0x4c1];
    case 0x309 ... 0x30c:
        return &p->fixed[msr - 0x309];
    case 0x38d:
        return &p->fixed_ctrl;
    case 0x38e:
        return &p->status;
    case 0x38f:
        return &p->ctrl;
    case 0x3f1:
        return &p->pebs_enable;
    case 0x3f2:
        return &p->data_cfg;
    case 0x600:
        return &p->ds_area;
    case 0x1d9:
        return &p->debugctl;
    }
    return NULL;
}

bool pebs_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t *reg = plain(env->pebs, msr);

    if (reg) {
        *val = *reg;
        return true;
    }
    switch (msr) {
    case 0x345:             /* PERF_CAPABILITIES: trap-like, all registers, ... */
        *val = env_archcpu(env)->pebs == 3 ? 0x23c0 : 0x64c0;
        return true;
    case 0x390:
        *val = 0;
        return true;
    case 0x1a0:             /* MISC_ENABLE: counters and PEBS, but no BTS */
        *val = (env->msr_ia32_misc_enable | 1 << 7 | 1 << 11) & ~(1ULL << 12);
        return true;
    }
    return false;
}

bool pebs_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    struct PebsState *p = env->pebs;
    uint64_t *reg = plain(p, msr);

    switch (msr) {
    case 0x390:
        p->status &= ~val;
        return true;
    case 0x38e:
        return true;
    case 0xc1 ... 0xc1 + NR_COUNTERS - 1:
        val = (int32_t)val;
        /* fall through */
    case 0x4c1 ... 0x4c1 + NR_COUNTERS - 1:
        val &= COUNTER_MASK;
        break;
    }
    if (!reg) {
        return false;
    }
    *reg = val;
    update(p);
    return true;
}

bool pebs_rdpmc(CPUX86State *env, uint32_t n, uint64_t *val)
{
    if (n < NR_COUNTERS) {
        *val = env->pebs->counter[n];
    } else if (n >= 1U << 30 && n < (1U << 30) + 3) {
        *val = env->pebs->fixed[n - (1U << 30)];
    } else {
        return false;
    }
    return true;
}

/* ------------------------------- Records ------------------------------- */

static void deliver_pmi(CPUState *cs, run_on_cpu_data unused)
{
    X86CPU *cpu = X86_CPU(cs);

    cpu->env.pebs->pmi_pending = false;
    COUNT(truth->interrupts);
    apic_deliver_perf(cpu->apic_state);
}

/* Not in the middle of a translated block. */
static void raise_pmi(CPUX86State *env)
{
    if (!env->pebs->pmi_pending) {
        env->pebs->pmi_pending = true;
        async_run_on_cpu(env_cpu(env), deliver_pmi, RUN_ON_CPU_NULL);
    }
}

/* With -icount, the time is that of the end of the translated block. */
static uint64_t current_tsc(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);
    uint32_t can_do_io = cs->can_do_io;
    uint64_t tsc;

    cs->can_do_io = 1;
    tsc = cpu_get_tsc(env);
    cs->can_do_io = can_do_io;
    return tsc;
}

/* The instruction that is being executed. */
static uint64_t current_ip(CPUX86State *env, uintptr_t ra)
{
    uint64_t data[TARGET_INSN_START_WORDS];

    if (!ra || !cpu_unwind_state_data(env_cpu(env), ra, data)) {
        return env->eip;
    }
    if (TARGET_TB_PCREL) {
        data[0] |= (env->eip + env->segs[R_CS].base) & TARGET_PAGE_MASK;
    }
    return data[0] - env->segs[R_CS].base;
}

static uint64_t *put_registers(CPUX86State *env, uint64_t *to, uint64_t ip)
{
    static const int order[] = { R_EAX, R_EBX, R_ECX, R_EDX, R_ESI, R_EDI, R_EBP, R_ESP };
    int i;

    *to++ = env->eflags;
    *to++ = ip;
    for (i = 0; i < 8; i++) {
        *to++ = env->regs[order[i]];
    }
    for (i = 8; i < CPU_NB_REGS; i++) {
        *to++ = env->regs[i];
    }
    return to;
}

/* Return: the length of the record. */
static int make_record(CPUX86State *env, int n, target_ulong addr, uintptr_t ra,
                       uint64_t *record)
{
    struct PebsState *p = env->pebs;
    uint64_t ip = current_ip(env, ra), tsc = current_tsc(env), *to = record;
    uint32_t groups;

    if (env_archcpu(env)->pebs == 3) {
        to = put_registers(env, to, ip);
        *to++ = BIT(n);
        *to++ = addr;
        *to++ = 0;              /* data source: this event has none */
        *to++ = 0;              /* latency: nor that */
        *to++ = ip;
        *to++ = 0;
        *to++ = tsc;
        return (char *)to - (char *)record;
    }

    groups = p->evntsel[n] >> 34 & 1 ? p->data_cfg & (CFG_MEMORY | CFG_REGISTERS) : 0;
    to++;
    *to++ = ip;
    *to++ = BIT(n);
    *to++ = tsc;
    if (groups & CFG_MEMORY) {
        *to++ = addr;
        *to++ = 0;
        *to++ = 0;
        *to++ = 0;
    }
    if (groups & CFG_REGISTERS) {
        to = put_registers(env, to, ip);
    }
    record[0] = groups | (uint64_t)((char *)to - (char *)record) << 48;
    return (char *)to - (char *)record;
}

/* Linux maps the debug store for the kernel and for user programs, and locks it. */
static void write_record(CPUX86State *env, int n, target_ulong addr, uintptr_t ra)
{
    CPUState *cs = env_cpu(env);
    struct PebsState *p = env->pebs;
    struct debug_store ds;
    uint64_t record[32];
    int size = make_record(env, n, addr, ra, record);

    if (cpu_memory_rw_debug(cs, p->ds_area + DS_PEBS, &ds, sizeof(ds), false)) {
        COUNT(truth->dropped);
        return;
    }
    p->counter[n] = ds.reset[n] & COUNTER_MASK;
    if (ds.index + size > ds.max ||
        cpu_memory_rw_debug(cs, ds.index, record, size, true)) {
        COUNT(truth->dropped);
        return;
    }
    COUNT(truth->written);
    ds.index += size;
    cpu_memory_rw_debug(cs, p->ds_area + DS_PEBS + offsetof(struct debug_store, index),
                        &ds.index, sizeof(ds.index), true);
    if (ds.index >= ds.threshold) {
        p->status |= STATUS_BUFFER;
        raise_pmi(env);
    }
}

static void count(CPUX86State *env, int n, target_ulong addr, uintptr_t ra)
{
    struct PebsState *p = env->pebs;

    p->counter[n] = (p->counter[n] + 1) & COUNTER_MASK;
    if (likely(p->counter[n])) {
        return;
    }
    if (p->pebs_enable & BIT(n)) {
        write_record(env, n, addr, ra);
        return;
    }
    p->status |= BIT(n);
    if (p->evntsel[n] & SEL_INT) {
        raise_pmi(env);
    }
}

/* ------------------------------- Accesses ------------------------------- */

/* Return: was the line not there? It is now. */
static bool misses(uint64_t phys)
{
    uint64_t line = (phys >> LINE_BITS) + 1;
    uint64_t *set = cache[line & (cache_sets - 1)];
    uint64_t last = set[0], next;
    int way;

    if (likely(last == line)) {
        return false;
    }
    set[0] = line;
    for (way = 1; way < WAYS; way++) {
        next = set[way];
        set[way] = last;
        if (next == line) {
            return false;
        }
        last = next;
    }
    return true;
}

/* The access was made just now, so it is still in there if it was to memory. */
static bool find_phys(CPUX86State *env, target_ulong addr, bool store, int mmu_idx,
                      uint64_t *phys)
{
    CPUTLBEntry *entry = tlb_entry(env, mmu_idx, addr);
    target_ulong page = store ? tlb_addr_write(entry) : entry->addr_read;

    if (unlikely(!tlb_hit(page, addr) || page & TLB_MMIO)) {
        return false;
    }
    *phys = env_tlb(env)->d[mmu_idx].fulltlb[tlb_index(env, mmu_idx, addr)].phys_addr |
            (addr & ~TARGET_PAGE_MASK);
    return true;
}

static void count_truth(bool user, int kind)
{
    COUNT(truth->all[kind]);
    if (user) {
        COUNT(truth->user[kind]);
    }
}

void pebs_access(CPUX86State *env, target_ulong addr, bool store, int mmu_idx,
                 uintptr_t ra)
{
    struct PebsState *p = env->pebs;
    bool user = (env->hflags & HF_CPL_MASK) == 3, miss = false;
    uint64_t phys;
    uint8_t counts;

    if (find_phys(env, addr, store, mmu_idx, &phys)) {
        miss = misses(phys);
        if (user && truth_page && phys >> TARGET_PAGE_BITS < truth->pages) {
            struct truth_page *page = &truth_page[phys >> TARGET_PAGE_BITS];

            if (store) {
                COUNT(page->stores);
            } else if (miss) {
                COUNT(page->misses);
            }
        }
    }

    counts = p->counts[user][store ? STORE : LOAD];
    count_truth(user, store ? STORE : LOAD);
    if (!store && miss) {
        counts |= p->counts[user][LOAD_MISS];
        count_truth(user, LOAD_MISS);
    }
    for (; unlikely(counts); counts &= counts - 1) {
        count(env, ctz32(counts), addr, ra);
    }
}
