/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* What is read of the kernel's own structures; offsets are found when the programs are loaded. */
#ifndef TAILBACK_KERNEL_H
#define TAILBACK_KERNEL_H

#define __VMLINUX_H__
#include <stdbool.h>

/* The kernel's own headers are not asked for: where they stand differs from distribution to
 * distribution, and this little is all that is needed of them. */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef signed short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

#define BPF_MAP_TYPE_STACK_TRACE 7
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define COMM 16
#define READ_FIELDS __attribute__((preserve_access_index))

struct mm_struct {
} READ_FIELDS;

struct rq {
	int cpu;
} READ_FIELDS;

struct cfs_rq {
	int throttled;
	struct rq *rq;
} READ_FIELDS;

struct sched_entity {
	struct cfs_rq *cfs_rq;
} READ_FIELDS;

struct task_struct {
	struct sched_entity se;
	int pid;
	int tgid;
	int static_prio;
	unsigned int __state;
	struct mm_struct *mm;
	char comm[COMM];
} READ_FIELDS;

/* Before 5.14. */
struct task_struct___before_5_14 {
	volatile long state;
} READ_FIELDS;

struct pt_regs;

/* Nice 0 as the kernel counts priorities. */
#define PRIO_OF_NICE_0 120

/* Bit of a sleep that no signal ends. */
#define STATE_UNINTERRUPTIBLE 2
/* And of a thread that has ended. */
#define STATE_DEAD 0x80

static __always_inline u32 state_of(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ(old, state);
}

/* Whether the run queue of its group on its CPU has used its quota up. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct cfs_rq *queue = 0;

	if (!bpf_core_field_exists(queue->throttled) || !bpf_core_field_exists(task->se.cfs_rq))
		return false;
	/* Since 6.18 it is one bit beside others. */
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return BPF_CORE_READ_BITFIELD_PROBED(queue, throttled) != 0;
}

/* The run queue of its group on its CPU, as a number. */
static __always_inline u64 queue_of(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return (u64)BPF_CORE_READ(task, se.cfs_rq);
}

#endif
