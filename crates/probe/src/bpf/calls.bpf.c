/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Calls of one function of a library, by CPU, and the sum of one of its arguments. */
#include "kernel.h"

#define CPUS 512

struct tally {
	u64 calls;
	u64 bytes;
	/* A cache line of its own for each CPU. */
	u64 pad[6];
};

struct tally tallies[CPUS];

/* Calls on CPUs that the table has no row for. */
u64 elsewhere;

/* Which argument is a size: 1 is the first, 0 is none. */
const volatile u32 size_argument = 0;

struct registers {
#if defined(__TARGET_ARCH_x86)
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
#else
	unsigned long regs[31];
#endif
};

#if defined(__TARGET_ARCH_x86)
#define ARGUMENTS(at) { at->di, at->si, at->dx, at->cx, at->r8, at->r9 }
#else
#define ARGUMENTS(at) { at->regs[0], at->regs[1], at->regs[2], at->regs[3], at->regs[4], at->regs[5] }
#endif

/* All registers are read, since the verifier requires constant offsets into them. */
static __always_inline u64 argument(struct registers *at)
{
	u64 all[] = ARGUMENTS(at);
	u64 chosen = 0;

#pragma unroll
	for (u32 i = 0; i < 6; i++) {
		barrier_var(all[i]);
		if (size_argument == i + 1)
			chosen = all[i];
	}
	return chosen;
}

SEC("uprobe")
int on_call(void *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (cpu >= CPUS) {
		__sync_fetch_and_add(&elsewhere, 1);
		return 0;
	}
	/* On a kernel that preempts programs, another call may come between reading and
	 * writing. */
	__sync_fetch_and_add(&tallies[cpu].calls, 1);
	__sync_fetch_and_add(&tallies[cpu].bytes, argument(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
