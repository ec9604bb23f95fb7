/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Calls of futex, and the time in them. */
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

SEC("raw_tp/sys_enter")
int on_syscall(u64 *ctx)
{
	struct thread *thread;

	if (ctx[1] != futex_number)
		return 0;
	thread = current_thread();
	if (thread)
		thread->futex_from = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/sys_exit")
int on_syscall_end(u64 *ctx)
{
	struct thread *thread = current_thread();

	if (!thread || !thread->futex_from)
		return 0;
	thread->futex_calls++;
	thread->futex_ns += bpf_ktime_get_ns() - thread->futex_from;
	thread->futex_from = 0;
	return 0;
}

#endif
