/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Programs that do nothing, where those of `tailback watch` are that every switch runs: the least
 * that any program there costs. For scripts/bench-watch alone. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch)
{
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup)
{
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new)
{
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate)
{
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec)
{
	return 0;
}

SEC("raw_tp/mmap_lock_start_locking")
int on_lock_start(u64 *ctx)
{
	return 0;
}

SEC("raw_tp/mmap_lock_acquire_returned")
int on_lock_returned(u64 *ctx)
{
	return 0;
}

SEC("raw_tp/mmap_lock_released")
int on_lock_released(u64 *ctx)
{
	return 0;
}

SEC("raw_tp/contention_begin")
int on_contention(u64 *ctx)
{
	return 0;
}

SEC("raw_tp/contention_end")
int on_contention_end(u64 *ctx)
{
	return 0;
}
