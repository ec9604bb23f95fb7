/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads that sleep for the journal of a file system (ext4). Who changes such a file system has a
 * handle of the running transaction. The commit of the transaction begins with a wait until all
 * its handles are closed. Until then nobody gets a new handle, and who calls fsync waits for the
 * whole commit.
 *
 * One kernel thread (jbd2) makes all commits of a journal. Only who closes the last handle wakes it
 * from that wait, and only it wakes those who wait for the commit. So the wake-ups tell who waited
 * for whom, and nothing of the journal itself is read: jbd2 may be a module, whose types the kernel
 * does not always describe. */
#ifndef TAILBACK_WATCH_JOURNAL_H
#define TAILBACK_WATCH_JOURNAL_H

#include "watch_chain.h"
#include "watch_clock.h"

/* A sleep that begins within this time after another one is added to it, in nanoseconds. */
#define SLEEPS_ON 10000000

static __always_inline bool is_of_kernel(struct task_struct *task)
{
	return ((struct task_struct___watch *)task)->flags & KERNEL_THREAD;
}

/* Whether this thread commits a journal, and does not wait for handles. */
static __always_inline bool commits_journal(struct thread *thread)
{
	return thread && thread->lock == COMMITS;
}

/* An uninterruptible sleep of `slept` nanoseconds is over. Sleeps for a device, or for data in
 * write-back, are kept if a handle is open. A thread has several in a row for several pages. On a
 * file system without such a journal nothing asks for them. Kernel threads are left out first: they
 * are no culprits, and their idle sleep is uninterruptible too. */
static __always_inline void may_have_held_handle(struct thread *thread, struct task_struct *task,
						 u64 slept, u64 now)
{
	struct task_struct___watch *of = (void *)task;

	if (of->flags & KERNEL_THREAD || !bpf_core_field_exists(of->in_iowait) ||
	    !BPF_CORE_READ_BITFIELD(of, in_iowait))
		return;
	if (!bpf_core_field_exists(of->journal_info) || !of->journal_info)
		return;
	if (after(thread->since, thread->io_to) >= SLEEPS_ON)
		thread->io_ns = 0;
	thread->io_ns += slept;
	thread->io_to = now;
}

/* The current task, the thread with this id, wakes the thread of a journal: it has closed the last
 * handle. This function and the next one are rare, so they are not inlined into the program of
 * wake-ups. */
static __noinline int closes_last_handle(struct thread *journal, u32 tid)
{
	u32 key = journal->tid;
	struct held *commit = bpf_map_lookup_elem(&commits, &key);

	if (!commit)
		return 0;
	commit->to = bpf_ktime_get_ns();
	commit->holder = journal->waker;
	commit->thread = tid;
	bpf_get_current_comm(commit->comm, COMM);
	return 0;
}

/* The thread of a journal wakes this one. Of its sleep, the part counts in which the commit waited
 * for the last handle. */
static __noinline int waited_for_journal(struct thread *thread, struct thread *journal)
{
	u32 key = journal->tid;
	struct held *commit = bpf_map_lookup_elem(&commits, &key);
	struct held held;

	if (!commit || !commit->holder)
		return 0;
	held = *commit;
	held.ns = overlap(thread->since, held.to, held.from, held.to);
	if (held.ns < LEAST_STRETCH)
		return 0;
	held.slept = SLEPT_FOR_JOURNAL;
	held.steps = 1;
	add_chain(thread, &held, NOT_INVERTED);
	return 0;
}

/* What a thread did for more than half of the time in which the commit waited for its handle. */
static __always_inline u8 did_with_handle(struct thread *thread, u64 from, u64 to)
{
	u64 half = (to - from) / 2;
	struct held stood = {};

	if (overlap(thread->io_to - thread->io_ns, thread->io_to, from, to) > half)
		return SLEPT_FOR_DEVICE;
	owes_waker(thread, from, to, &stood);
	return stood.ns > half ? stood.why : DID_OTHERWISE;
}

static __always_inline struct held *commit_by(u32 tid)
{
	struct held *commit = bpf_map_lookup_elem(&commits, &tid);

	if (commit)
		return commit;
	bpf_map_update_elem(&commits, &tid, &blank_held, BPF_NOEXIST);
	return bpf_map_lookup_elem(&commits, &tid);
}

/* The current thread begins a commit: from now on it waits for open handles. The last commit before
 * a file system is unmounted is made by who unmounts it. Nobody waits for that one. */
SEC("raw_tp/jbd2_commit_locking")
int watch_commit(void *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct task_struct___watch *task = (void *)bpf_get_current_task();
	struct thread *thread = entry_at(tid);
	struct held *commit;

	if (!thread || !(BPF_CORE_READ(task, flags) & KERNEL_THREAD))
		return 0;
	commit = commit_by(tid);
	if (!commit)
		return 0;
	commit->holder = 0;
	commit->from = bpf_ktime_get_ns();
	commit->to = commit->from;
	thread->lock = WAITS_FOR_HANDLES;
	return 0;
}

/* All handles are closed. The tracepoint comes before the threads are woken that wait for a new
 * handle. What the holder did is looked up here and not when it closed the handle: with that loop
 * twice, the program of wake-ups would be much larger for the verifier. */
SEC("raw_tp/jbd2_commit_flushing")
int watch_commit_end(void *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = entry_at(tid), *holder;
	struct held *commit;

	if (!thread || thread->lock != WAITS_FOR_HANDLES)
		return 0;
	thread->lock = COMMITS;
	commit = bpf_map_lookup_elem(&commits, &tid);
	if (!commit || !commit->holder)
		return 0;
	holder = entry_at(commit->thread);
	commit->why = holder ? did_with_handle(holder, commit->from, commit->to) : DID_OTHERWISE;
	return 0;
}

#endif
