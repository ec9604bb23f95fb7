/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Futex calls and the time in them, and sleep in calls that wait for input. */
#ifndef TAILBACK_FUTEX_H
#define TAILBACK_FUTEX_H

#include "tables.h"

static __always_inline struct thread *current_thread(void)
{
	u64 both = bpf_get_current_pid_tgid();
	u32 tid = both, tgid = both >> 32;
	struct thread *thread = &threads[tid & (THREADS - 1)];

	return thread->tid == tid && thread->tgid == tgid ? thread : 0;
}

static __always_inline bool waits_for_input(u32 number)
{
	bool found = false;

#pragma unroll
	for (int i = 0; i < POLLS; i++)
		found |= number == poll_numbers[i];
	return found;
}

SEC("raw_tp/sys_enter")
int on_syscall(u64 *ctx)
{
	u32 number = ctx[1];
	bool polling = waits_for_input(number);
	struct thread *thread;

	if (number != futex_number && !polling)
		return 0;
	thread = current_thread();
	if (!thread)
		return 0;
	thread->polling = polling;
	thread->call_from = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/sys_exit")
int on_syscall_end(u64 *ctx)
{
	struct thread *thread = current_thread();

	if (!thread || !thread->call_from)
		return 0;
	if (!thread->polling) {
		thread->futex_calls++;
		thread->futex_ns += bpf_ktime_get_ns() - thread->call_from;
	}
	thread->call_from = 0;
	return 0;
}

#endif
