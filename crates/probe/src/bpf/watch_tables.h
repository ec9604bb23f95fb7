/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The tables of `tailback watch`. Each has a bounded size. Threads are looked up at every switch,
 * so they are in an array, which costs less than a hash table; threads that have ended free their
 * slots. The hash tables drop the least recently used entry. */
#ifndef TAILBACK_WATCH_TABLES_H
#define TAILBACK_WATCH_TABLES_H

#include "watch_pid.h"

/* The current interval; the reader adds one and then reads the interval before. */
u32 interval;
/* Time of the last reading: the reader has attributed waits in progress up to this time. */
u64 read_at;
/* Threads whose slot was given to another thread before they were read. */
u64 threads_lost;
/* Whether a slot was given away whose thread may still live. Its next entry is not its first. */
u32 slot_taken;
/* Slots that have changed; the reader resets them before it reads. Bytes, since setting a bit is
 * not a single operation. */
u8 touched[THREADS];

/* Erlang nodes that the reader has found; the used elements come first. */
u32 nodes[NODES];
/* The addresses at which they count the passes of their schedulers, in the same order. */
u64 passes_at[NODES];

/* One bit for each CPU that has gone offline; set by the reader. */
u64 offline[CPUS_LOOKED_AT / 64];

/* Number of possible CPUs, set by the loader. */
const volatile u32 cpus_known = 1;
/* Whether waits for a lock are seen by the contention tracepoints. */
const volatile bool contention = true;

/* The initial values of new entries. */
struct reader blank_reader;
struct space blank_space;
struct chain blank_chain;
struct held blank_held;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, THREADS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* One entry for each CPU here, and two for each CPU in `pairs`. */
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
	__uint(max_entries, CHAINS);
	__type(key, struct chain_key);
	__type(value, struct chain);
} chains SEC(".maps");

/* The last commit of each journal, by the id of the thread that makes the commits. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JOURNALS);
	__type(key, u32);
	__type(value, struct held);
} commits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SPACES);
	__type(key, u64);
	__type(value, struct space);
} spaces SEC(".maps");

/* The last samples of threads of nodes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SAMPLES);
	__type(key, u32);
	__type(value, struct node_sample);
} node_samples SEC(".maps");

/* Whether a process is an Erlang node. */
static __always_inline bool is_node(u32 pid)
{
	for (int i = 0; i < NODES; i++) {
		if (!nodes[i])
			return false;
		if (nodes[i] == pid)
			return true;
	}
	return false;
}

/* One of the slots for a thread. Consecutive ids have consecutive slots. */
static __always_inline u32 place(u32 tid, u32 nth)
{
	return (tid + nth * 4099) & (THREADS - 1);
}

/* The change mark of a slot. After a key was passed to a helper, the verifier knows no bounds for
 * it. */
static __always_inline u8 *change_of(u32 key)
{
	return &touched[key & (THREADS - 1)];
}

static __always_inline void touch(u32 key)
{
	/* Usually it is set already, and is only read: other CPUs write the bytes next to it. */
	if (!*change_of(key))
		*change_of(key) = 1;
}

static __noinline struct thread *entry_elsewhere(u32 tid)
{
	for (u32 nth = 1; nth < PLACES; nth++) {
		u32 key = place(tid, nth);
		struct thread *thread = bpf_map_lookup_elem(&threads, &key);

		if (thread && thread->tid == tid) {
			touch(key);
			return thread;
		}
	}
	return 0;
}

/* The entry of a thread with that id; 0 if there is none. */
static __always_inline struct thread *entry_at(u32 tid)
{
	u32 key = place(tid, 0);
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (!thread || thread->tid != tid)
		return entry_elsewhere(tid);
	touch(key);
	return thread;
}

/* Whether a slot is free: it is empty, or has a thread with the same id, or a thread that has
 * ended and was read. */
static __always_inline bool is_free(struct thread *thread, u32 tid, u32 key)
{
	return !thread->start || thread->tid == tid || (thread->state == GONE && !*change_of(key));
}

/* The first free slot; else the slot of a thread that has ended or sleeps; else one chosen by
 * `chance`. A runnable thread that gets no CPU causes no event that would give it a slot again. */
static __always_inline u32 place_for(u32 tid, u64 chance)
{
	u32 last = place(tid, chance & (PLACES - 1));

	for (u32 nth = 0; nth < PLACES; nth++) {
		u32 key = place(tid, nth);
		struct thread *thread = bpf_map_lookup_elem(&threads, &key);

		if (thread && is_free(thread, tid, key))
			return place(tid, nth);
		if (thread && (thread->state == GONE || thread->state == ASLEEP))
			last = place(tid, nth);
	}
	return last;
}

/* Two threads that take the same slot at the same moment share it until one of them is looked up
 * again. */
static __noinline struct thread *entry_made(struct task_struct *task)
{
	struct task_struct___watch *from = (void *)task;
	u32 tid = task->pid;
	u32 chosen = place_for(tid, from->start_time >> 12);
	struct thread *thread = bpf_map_lookup_elem(&threads, &chosen);

	if (!thread)
		return 0;
	if (thread->start && (*change_of(chosen) || thread->state == READY))
		__sync_fetch_and_add(&threads_lost, 1);
	if (thread->start && thread->tid != tid && thread->state != GONE)
		slot_taken = 1;
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	thread->tgid = process_number(task);
	thread->tid_here = thread_number(task);
	thread->level = LEVEL_UNKNOWN;
	thread->session = session_number(task);
	thread->nice = task->static_prio - PRIO_OF_NICE_0;
	bpf_probe_read_kernel(thread->comm, COMM, task->comm);
	thread->start = from->start_time;
	/* If a wake-up is the first event of a thread, it slept since before watching began. But a
	 * thread that is about to sleep still runs. And if slots were taken from threads, it may be
	 * one of those, and have run meanwhile. */
	if (!slot_taken && !is_running(task))
		thread->asleep_from = thread->start;
	touch(chosen);
	return thread;
}

/* The thread's entry; it is made if there is none. */
static __always_inline struct thread *entry_of(struct task_struct *task)
{
	struct thread *thread = entry_at(task->pid);

	if (thread && thread->start == ((struct task_struct___watch *)task)->start_time)
		return thread;
	return entry_made(task);
}

/* The worst value of an interval is kept until the second interval after it. */
static __always_inline void keep_worst(u64 *worst, u32 *of, u64 ns)
{
	u32 now = interval;

	/* One of two, without a variable index. */
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
