/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Ids of threads, processes and sessions, as /proc shows them to the reader of the tables. In a
 * container these differ from the kernel's ids. An id is looked up once, when an entry is made.
 * The key of a thread is still the kernel's own id. */
#ifndef TAILBACK_WATCH_PID_H
#define TAILBACK_WATCH_PID_H

#include "watch_kernel.h"

/* The PID namespace of the reader's /proc, by its inode; 0 for the first namespace, whose ids are
 * those of the kernel. Set by the loader. */
const volatile u32 namespace = 0;

/* A thread without an id in the namespace gets the kernel's id with mark bits that no PID has:
 * one mark for programs outside the namespace, and another one for kernel threads. */
#define OUTSIDE 0x80000000
#define OUTSIDE_OF_KERNEL 0xc0000000
#define KERNEL_THREAD 0x00200000

/* Deepest nesting of namespaces (MAX_PID_NS_LEVEL). */
#define DEEPEST 32

/* The id of a `struct pid` in that namespace; `otherwise` if it has none. Every pointer is
 * followed with a check, so any address is fine. */
static __noinline u32 number_in_namespace(u64 pid, u32 otherwise)
{
	u32 level = BPF_CORE_READ((struct pid___watch *)pid, level);
	u64 at = pid + bpf_core_field_offset(struct pid___watch, numbers);

	for (u32 i = 0; i <= DEEPEST; i++) {
		struct upid___watch *number = (void *)at;

		if (i > level)
			break;
		if (BPF_CORE_READ(number, ns, ns.inum) == namespace)
			return BPF_CORE_READ(number, nr);
		at += bpf_core_type_size(struct upid___watch);
	}
	return otherwise;
}

static __always_inline u32 mark_outside(struct task_struct *task, u32 number)
{
	u32 flags = BPF_CORE_READ((struct task_struct___watch *)task, flags);

	return number | (flags & KERNEL_THREAD ? OUTSIDE_OF_KERNEL : OUTSIDE);
}

static __always_inline u32 thread_number(struct task_struct *task)
{
	u32 tid = BPF_CORE_READ(task, pid);

	if (!namespace)
		return tid;
	return number_in_namespace((u64)BPF_CORE_READ((struct task_struct___watch *)task, thread_pid),
				   mark_outside(task, tid));
}

static __always_inline u32 process_number(struct task_struct *task)
{
	struct task_struct___watch *from = (void *)task;
	u32 tgid = BPF_CORE_READ(task, tgid);

	if (!namespace)
		return tgid;
	return number_in_namespace((u64)BPF_CORE_READ(from, signal, pids[OF_PROCESS]),
				   mark_outside(task, tgid));
}

static __always_inline u32 session_number(struct task_struct *task)
{
	struct pid___watch *session = BPF_CORE_READ((struct task_struct___watch *)task, signal, pids[OF_SESSION]);
	u32 number = BPF_CORE_READ(session, numbers[0].nr);

	if (!namespace || !number)
		return number;
	return number_in_namespace((u64)session, number | OUTSIDE);
}

#endif
