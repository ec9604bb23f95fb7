/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The time of a switch or a wake-up. Reading the clock takes 40 ns or more, which was half the
 * cost of the programs. The run queue has just read its own clock, by which the kernel counts run
 * delays. The distance of that clock from CLOCK_MONOTONIC is measured now and then. */
#ifndef TAILBACK_WATCH_CLOCK_H
#define TAILBACK_WATCH_CLOCK_H

#include "watch_tables.h"

/* How long a measured distance is used, in nanoseconds. */
#define LEARNT_FOR 1000000
/* Usually the two clocks drift apart by less than one part in 8192. A larger distance means that
 * time passed since the run queue read its clock; this is temporary. If it is larger `TOO_OFTEN`
 * times in a row, it is drift: the clock is being adjusted, or the other clock is not stable. */
#define DRIFT(ns) ((ns) >> 13)
#define TOO_OFTEN 8

/* Time from `before` to `now`, or 0: `before` may come from another CPU, whose clock may be
 * ahead. */
static __always_inline u64 after(u64 now, u64 before)
{
	return now > before ? now - before : 0;
}

static __always_inline void learn_behind(struct cpu *cpu, u64 clock)
{
	u64 seen = bpf_ktime_get_ns() - clock;
	u64 most = cpu->behind + DRIFT(after(clock, cpu->learnt_at));
	bool is_more = cpu->learnt_at && (s64)(seen - most) > 0;

	cpu->learnt_at = clock;
	if (!is_more) {
		cpu->behind = seen;
		cpu->often = 0;
		return;
	}
	cpu->behind = most;
	if (!cpu->often++ || (s64)(seen - cpu->least_behind) < 0)
		cpu->least_behind = seen;
	if (cpu->often < TOO_OFTEN)
		return;
	cpu->behind = cpu->least_behind;
	cpu->often = 0;
}

/* The time of a CPU's run queue, converted to CLOCK_MONOTONIC. The task is on that CPU, and the
 * lock of the run queue is held. */
static __always_inline u64 time_on(struct cpu *cpu, struct task_struct *task)
{
	u64 clock = queue_clock(task);

	if (!clock || !cpu)
		return bpf_ktime_get_ns();
	if (clock - cpu->learnt_at >= LEARNT_FOR)
		learn_behind(cpu, clock);
	return clock + cpu->behind;
}

#endif
