/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The fields that are read from the kernel's own structures; the loader finds their offsets. */
#ifndef TAILBACK_KERNEL_H
#define TAILBACK_KERNEL_H

#define __VMLINUX_H__
#include <stdbool.h>

/* The kernel's own headers are not used: their location differs between distributions, and only
 * the little below is needed. */
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

/* Kernels before 5.14. */
struct task_struct___before_5_14 {
	volatile long state;
} READ_FIELDS;

struct pt_regs;

/* Nice 0 in the kernel's priority numbers. */
#define PRIO_OF_NICE_0 120

/* Bit of an uninterruptible sleep. */
#define STATE_UNINTERRUPTIBLE 2
/* Bit of a thread that has ended. */
#define STATE_DEAD 0x80

static __always_inline u32 state_of(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ(old, state);
}

/* Whether the group of the task has used its quota up on the task's CPU. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct cfs_rq *queue = 0;

	if (!bpf_core_field_exists(queue->throttled) || !bpf_core_field_exists(task->se.cfs_rq))
		return false;
	/* Since 6.18 the field is one bit among others. */
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return BPF_CORE_READ_BITFIELD_PROBED(queue, throttled) != 0;
}

/* The run queue of the task's group on its CPU, as a number. */
static __always_inline u64 queue_of(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return (u64)BPF_CORE_READ(task, se.cfs_rq);
}

#endif
