/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The tables of `tailback watch`. Each is of bounded size; what is the longest unused makes room. */
#ifndef TAILBACK_WATCH_TABLES_H
#define TAILBACK_WATCH_TABLES_H

#include "watch_kernel.h"

/* The interval that is counted now; the reader adds one and then reads the one before. */
u32 interval;
/* Threads that were given a place; more than there are places means that some were lost. */
u64 threads_made;

/* Set when it is loaded. */
const volatile u32 cpus_known = 1;
/* Whether waits for a lock are told by the tracepoints of contention. */
const volatile bool contention = true;

/* All of a new thread. */
struct thread blank_thread;
struct reader blank_reader;
struct space blank_space;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* As many as there are CPUs, and twice as many. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct pairs);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, READERS);
	__type(key, struct reader_key);
	__type(value, struct reader);
} readers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SPACES);
	__type(key, u64);
	__type(value, struct space);
} spaces SEC(".maps");

/* The thread's entry; made where there is none. */
static __always_inline struct thread *entry_of(struct task_struct *task)
{
	struct task_struct___watch *from = (void *)task;
	u32 tid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (thread && thread->start == from->start_time)
		return thread;
	bpf_map_update_elem(&threads, &tid, &blank_thread, BPF_ANY);
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread)
		return 0;
	__sync_fetch_and_add(&threads_made, 1);
	thread->start = from->start_time;
	thread->tgid = task->tgid;
	thread->level = LEVEL_UNKNOWN;
	thread->session = BPF_CORE_READ(from, signal, pids[OF_SESSION], numbers[0].nr);
	thread->nice = task->static_prio - PRIO_OF_NICE_0;
	bpf_probe_read_kernel(thread->comm, COMM, task->comm);
	return thread;
}

/* The worst of an interval stands until the second one after it. */
static __always_inline void keep_worst(u64 *worst, u32 *of, u64 ns)
{
	u32 now = interval;

	/* One of two, without an index that changes. */
	if (now & 1) {
		if (of[1] != now || ns > worst[1])
			worst[1] = ns;
		of[1] = now;
	} else {
		if (of[0] != now || ns > worst[0])
			worst[0] = ns;
		of[0] = now;
	}
}

#endif
