/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The fields that `tailback watch` reads from the kernel's own structures, on kernels from 5.10
 * on. */
#ifndef TAILBACK_WATCH_KERNEL_H
#define TAILBACK_WATCH_KERNEL_H

#include "watch_types.h"

struct rq___watch {
	int cpu;
	u64 clock;
} READ_FIELDS;

struct cfs_rq___watch {
	int throttled;
	/* How many groups have used their quota up here: this one and those above it. */
	int throttle_count;
	struct rq___watch *rq;
	/* Since 6.6: throttled time with runnable tasks, by its own quota or by that of a group
	 * above. */
	u64 throttled_clock_self;
	u64 throttled_clock_self_time;
	/* Before 6.6: throttled time, by the clock of its load average. */
	u64 throttled_clock_pelt_time;
	u64 throttled_clock_task_time;
} READ_FIELDS;

struct task_group___watch {
	/* One for each CPU. */
	struct cfs_rq___watch **cfs_rq;
} READ_FIELDS;

struct sched_entity___watch {
	struct cfs_rq___watch *cfs_rq;
	struct sched_entity___watch *parent;
} READ_FIELDS;

struct cpumask___watch {
	unsigned long bits[8];
} READ_FIELDS;

struct pid_namespace___watch {
	struct {
		unsigned int inum;
	} ns;
} READ_FIELDS;

struct upid___watch {
	int nr;
	struct pid_namespace___watch *ns;
} READ_FIELDS;

struct pid___watch {
	unsigned int level;
	/* One for each namespace, the first namespace first. */
	struct upid___watch numbers[1];
} READ_FIELDS;

/* Indices of a process's own number and of its session. */
#define OF_PROCESS 1
#define OF_SESSION 3

struct signal_struct___watch {
	struct pid___watch *pids[4];
} READ_FIELDS;

struct task_struct___watch {
	struct sched_entity___watch se;
	struct signal_struct___watch *signal;
	struct pid___watch *thread_pid;
	unsigned int flags;
	u64 start_time;
	int prio;
	int normal_prio;
	unsigned int wake_cpu;
	/* Since 7.2 these are bytes. libbpf adapts a load to another size only if the field is
	 * unsigned. */
	unsigned int on_rq;
	unsigned int on_cpu;
	struct cpumask___watch *cpus_ptr;
	void *files;
	/* The open handle of a journal (jbd2). Some other file systems use it too. */
	void *journal_info;
	struct task_group___watch *sched_task_group;
	/* Since 6.18: a thread is throttled when it returns to its program, and not while it is in
	 * the kernel. */
	bool throttled;
	unsigned int in_memstall : 1;
	unsigned int in_iowait : 1;
} READ_FIELDS;

struct rw_semaphore;

struct mm_struct___watch {
	struct {
		long count;
	} mmap_lock;
	struct task_struct *owner;
} READ_FIELDS;

struct qstr___watch {
	const unsigned char *name;
} READ_FIELDS;

struct dentry___watch {
	struct qstr___watch d_name;
} READ_FIELDS;

struct path___watch {
	struct dentry___watch *dentry;
} READ_FIELDS;

struct file___watch {
	struct path___watch f_path;
} READ_FIELDS;

struct fdtable___watch {
	unsigned int max_fds;
	struct file___watch **fd;
} READ_FIELDS;

struct files_struct___watch {
	struct fdtable___watch *fdt;
} READ_FIELDS;

enum bpf_func_id___watch {
	/* Another number than the kernel's, so that the check shows whether the kernel has the
	 * helper. */
	BPF_FUNC_task_pt_regs___watch = 175,
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs___watch {
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
} READ_FIELDS;
#define NEXT_OF(regs) ((u64)(regs)->ip)
#define CALL_OF(regs) ((s64)(regs)->orig_ax)
#define FIRST_ARGUMENT(regs) ((u64)(regs)->di)
#else
struct pt_regs___watch {
	int syscallno;
	u64 orig_x0;
	u64 pc;
	u64 sp;
} READ_FIELDS;
#define NEXT_OF(regs) ((u64)(regs)->pc)
#define CALL_OF(regs) ((s64)(regs)->syscallno)
#define FIRST_ARGUMENT(regs) ((u64)(regs)->orig_x0)
#endif

/* Lower priorities are those of the real-time and deadline policies. */
#define REAL_TIME 100

static __always_inline s32 prio_of(struct task_struct *task)
{
	return ((struct task_struct___watch *)task)->prio;
}

/* The priority of its own policy, without one that a lock passes on to it. */
static __always_inline s32 normal_prio_of(struct task_struct *task)
{
	return ((struct task_struct___watch *)task)->normal_prio;
}

struct thread_info___watch {
	int preempt_count;
	/* Only on x86. */
	unsigned int status;
	unsigned long flags;
} READ_FIELDS;

struct task_struct___info {
	struct thread_info___watch thread_info;
} READ_FIELDS;

/* All bits if a task is in a system call of a 32-bit program, whose calls have other numbers; 0
 * otherwise. Without a branch, since the verifier would follow both ways at every caller. */
static __always_inline s64 other_numbers(struct task_struct *task)
{
	struct task_struct___info *of = (void *)task;

#if defined(__TARGET_ARCH_x86)
	/* TS_COMPAT is bit 1. */
	if (!bpf_core_field_exists(of->thread_info.status))
		return 0;
	return -(s64)(of->thread_info.status >> 1 & 1);
#else
	/* TIF_32BIT is bit 22. */
	if (!bpf_core_field_exists(of->thread_info.flags))
		return 0;
	return -(s64)(of->thread_info.flags >> 22 & 1);
#endif
}

/* On x86 the interrupt depth of a CPU is a variable of that CPU. Its distance from the run queue
 * of the same CPU is set by the loader; 0 if it is not known. */
const volatile s64 depth_behind_queue = 0;

/* Bit for serving a soft interrupt, in all kernels. */
#define SOFT_INTERRUPT 0x100
/* Bits for hard interrupts and NMIs. In later kernels, the first bits count how often interrupts
 * are masked, and the second bits count hard interrupts. */
#define HARD_INTERRUPT 0xff0000
#define HARD_INTERRUPT_LATER 0x1f000000

/* Whether this is such a later kernel; set by a program that runs in an interrupt. */
bool counts_later;

static __always_inline bool knows_interrupts(void)
{
	struct task_struct___info *info = 0;
	struct task_struct___watch *task = 0;

	return bpf_core_field_exists(info->thread_info.preempt_count) ||
	       (depth_behind_queue && bpf_core_field_exists(task->se.cfs_rq));
}

static __always_inline u32 interrupts(void)
{
	struct task_struct___info *info = (void *)bpf_get_current_task();
	struct task_struct___watch *task = (void *)info;
	u64 queue;
	u32 depth = 0;

	if (bpf_core_field_exists(info->thread_info.preempt_count))
		return BPF_CORE_READ(info, thread_info.preempt_count);
	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	queue = (u64)BPF_CORE_READ(task, se.cfs_rq, rq);
	bpf_probe_read_kernel(&depth, sizeof(depth), (void *)(queue + depth_behind_queue));
	return depth;
}

/* To be called by a program that runs in an interrupt. */
static __always_inline void learn_interrupts(void)
{
	if (!counts_later && knows_interrupts() && interrupts() & HARD_INTERRUPT_LATER)
		counts_later = true;
}

/* Whether the task runs, even if no switch to it was seen. */
static __always_inline bool is_running(struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	return bpf_core_field_exists(of->on_cpu) && of->on_cpu;
}

/* The CPU of the task's run queue. */
static __always_inline u32 cpu_of(struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	return bpf_core_field_exists(of->se.cfs_rq) ? of->se.cfs_rq->rq->cpu : of->wake_cpu;
}

/* The clock of the task's run queue; 0 if the kernel has no groups. */
static __always_inline u64 queue_clock(struct task_struct *task)
{
	struct task_struct___watch *of = (void *)task;

	return bpf_core_field_exists(of->se.cfs_rq) ? of->se.cfs_rq->rq->clock : 0;
}

static __always_inline bool throttles_threads(void)
{
	struct task_struct___watch *of = 0;

	return bpf_core_field_exists(of->throttled);
}

/* Total time that the queue of the task's group was throttled on its CPU. */
static __always_inline u64 throttled_so_far(struct task_struct *task)
{
	struct task_struct___watch *from = (void *)task;
	struct cfs_rq___watch *queue;
	u64 sum, open, now;

	if (!bpf_core_field_exists(from->se.cfs_rq))
		return 0;
	queue = from->se.cfs_rq;
	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		sum = queue->throttled_clock_self_time;
		/* Others of its group may be throttled while it is not. */
		if (throttles_threads() && !from->throttled)
			return sum;
		open = queue->throttled_clock_self;
		if (open) {
			now = queue->rq->clock;
			sum += now > open ? now - open : 0;
		}
		return sum;
	}
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return queue->throttled_clock_pelt_time;
	if (bpf_core_field_exists(queue->throttled_clock_task_time))
		return queue->throttled_clock_task_time;
	return 0;
}

/* Whether a quota may keep the runnable thread from running before it gets a CPU. Such a quota
 * does not hold for a thread of a real-time or deadline policy. */
static __always_inline bool may_be_throttled(struct task_struct *task)
{
	if (prio_of(task) < REAL_TIME)
		return false;
	return !throttles_threads() || ((struct task_struct___watch *)task)->throttled;
}

/* The queue of the task's group on another CPU, if a quota may throttle it there; 0 otherwise. A
 * kernel that throttles threads does not balance throttled ones. */
static __always_inline struct cfs_rq___watch *queue_on(struct task_struct *task, int cpu)
{
	struct task_struct___watch *of = (void *)task;
	struct cfs_rq___watch **queues, *queue = 0;

	if (throttles_threads() || prio_of(task) < REAL_TIME ||
	    !bpf_core_field_exists(of->sched_task_group->cfs_rq))
		return 0;
	queues = BPF_CORE_READ(of, sched_task_group, cfs_rq);
	bpf_probe_read_kernel(&queue, sizeof(queue), &queues[cpu]);
	return queue;
}

/* Total time that this queue was throttled. It may belong to another CPU, so its fields are read
 * with a check of the address. */
static __always_inline u64 throttled_on(struct cfs_rq___watch *queue)
{
	u64 open, now;

	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		open = BPF_CORE_READ(queue, throttled_clock_self);
		now = open ? BPF_CORE_READ(queue, rq, clock) : 0;
		return BPF_CORE_READ(queue, throttled_clock_self_time) + (now > open ? now - open : 0);
	}
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return BPF_CORE_READ(queue, throttled_clock_pelt_time);
	if (bpf_core_field_exists(queue->throttled_clock_task_time))
		return BPF_CORE_READ(queue, throttled_clock_task_time);
	return 0;
}

/* Whether this queue or one above it is throttled. */
static __always_inline bool is_throttled_on(struct cfs_rq___watch *queue)
{
	return queue && bpf_core_field_exists(queue->throttle_count) &&
	       BPF_CORE_READ(queue, throttle_count);
}

/* The level of the nearest group of the thread that has used its quota up here. */
static __always_inline u8 throttled_level(struct task_struct *task)
{
	struct sched_entity___watch *entity = &((struct task_struct___watch *)task)->se;

	if (!bpf_core_field_exists(entity->cfs_rq) || !bpf_core_field_exists(entity->parent) ||
	    !bpf_core_field_exists(entity->cfs_rq->throttled))
		return LEVEL_UNKNOWN;
	/* Usually no group has, and no further lookup is needed. */
	if (bpf_core_field_exists(entity->cfs_rq->throttle_count) && !entity->cfs_rq->throttle_count)
		return LEVEL_UNKNOWN;
	/* Unrolled: Linux 5.10 refuses a loop that is entered anywhere but at its top, and
	 * compilers lay this loop out that way. */
#pragma unroll
	for (u8 level = 0; level < LEVEL_UNKNOWN; level++) {
		/* One bit since 6.18, a number before. */
		if (entity && BPF_CORE_READ_BITFIELD(entity->cfs_rq, throttled))
			return level;
		entity = entity ? entity->parent : 0;
	}
	return LEVEL_UNKNOWN;
}

#endif
