/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Which threads were runnable and did not run, and what ran instead. */
#ifndef TAILBACK_WATCH_SCHED_H
#define TAILBACK_WATCH_SCHED_H

#include "watch_mapping.h"
#include "watch_node.h"
#include "watch_chain.h"
#include "watch_journal.h"
#include "watch_move.h"
#include "watch_reclaim.h"

/* Number of waits after which the name of a thread is read again. */
#define COMM_EVERY 64

/* If the waker was not runnable during a sleep and no lock was waited for, the waker is recorded
 * only at the first wake-up of an interval, and once in 17 waits. 17 is prime, so wakers that take
 * turns are all recorded in turn. A multiple of 17, times the inverse of 17 in 32 bits, is small;
 * every other product is large. At each wake-up this costs less than a division. */
#define INVERSE_OF_17 0xf0f0f0f1u
#define IS_SEVENTEENTH(count) ((u32)(count) * INVERSE_OF_17 <= 0xffffffffu / 17)

/* A wake-up that preempts is followed by its switch within this time, unless the kernel cannot
 * switch at that moment. */
#define SWITCHING 50000

/* Shortest unthrottled part of a wait that is compared with idle CPUs. */
#define LONG_WAIT 1000000

static __always_inline void becomes_ready(struct thread *thread, struct task_struct *task, u32 cpu,
					  u64 now)
{
	struct task_struct___watch *from = (void *)task;

	thread->since = now;
	thread->here = now;
	thread->cpu = cpu;
	thread->prio = prio_of(task);
	thread->queue = 0;
	thread->level = LEVEL_UNKNOWN;
	if (may_be_throttled(task)) {
		thread->throttled_mark = throttled_so_far(task);
		thread->queue = bpf_core_field_exists(from->se.cfs_rq) ? (u64)from->se.cfs_rq : 0;
		thread->level = throttled_level(task);
	}
	/* Last, since a switch may read the entry meanwhile when watching starts. */
	asm volatile("" ::: "memory");
	thread->state = READY;
}

/* Whether it had the CPU by its policy alone: a running thread keeps the CPU from threads of the
 * same priority. */
static __always_inline bool is_forced(struct thread *thread, struct runner *ran)
{
	return ran->prio < REAL_TIME && ran->prio <= thread->prio;
}

static __always_inline void add_pair(struct pairs *table, struct thread *thread, struct runner *ran, u64 ns)
{
	u32 victim = thread->tgid;
	u32 slot = victim * 31 + ran->tgid * 17;

	for (int i = 0; i < PROBES; i++) {
		struct pair *pair = &table->pairs[(slot + i) & (PAIRS - 1)];

		if (!pair->victim) {
			pair->victim = victim;
			pair->culprit = ran->tgid;
			pair->session = ran->session;
			__builtin_memcpy(pair->comm, ran->comm, COMM);
		}
		if (pair->victim == victim && pair->culprit == ran->tgid) {
			pair->ns += ns;
			pair->waits++;
			if (ns > pair->worst)
				pair->worst = ns;
			if (is_forced(thread, ran)) {
				pair->forced += ns;
				pair->prio = ran->prio;
				pair->victim_prio = thread->prio;
				pair->normal_prio = ran->normal_prio;
			}
			return;
		}
	}
	table->rest += ns;
}

/* The moment from which a wait on this CPU has yet to be attributed. The reader has attributed it
 * up to its last reading, unless the thread was throttled from the beginning. */
static __always_inline u64 not_read_from(struct thread *thread)
{
	u64 from = thread->here;

	return thread->level == LEVEL_UNKNOWN && from < read_at ? read_at : from;
}

/* The same without the throttled part. The value goes through memory: otherwise, the verifier
 * tracks the comparison and does not see that the iterations of a loop are alike. */
static __always_inline u64 not_shared_from(struct thread *thread, u64 throttled)
{
	thread->share_from = not_read_from(thread) + throttled;
	asm volatile("" ::: "memory");
	return *(volatile u64 *)&thread->share_from;
}

/* Attributes the time from `from` until now to the threads that ran on that CPU. */
static __always_inline void share_out(struct thread *thread, u32 number, u64 from, u64 now)
{
	u32 table_key = number * 2 + (interval & 1);
	struct pairs *table = bpf_map_lookup_elem(&pairs, &table_key);
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	u64 left = now > from ? now - from : 0;
	u64 head;

	if (!cpu || !table)
		return;
	head = cpu->head;
	for (int i = 0; i < RUNNERS - 1; i++) {
		struct runner *ran = &cpu->ring[(head - i) & (RUNNERS - 1)];
		/* Read again: a value carried through the loop keeps the verifier from seeing
		 * that the iterations are alike. */
		u64 to = i ? *(volatile u64 *)&cpu->ring[(head - i + 1) & (RUNNERS - 1)].from : now;
		u64 begin = ran->from > from ? ran->from : from;
		u64 end = to < now ? to : now;
		u64 ns;

		/* What ran before the first switch is not known. */
		if (end <= from || !ran->from)
			break;
		if (end <= begin)
			continue;
		ns = end - begin;
		if (ns > left)
			ns = left;
		left -= ns;
		if (!ran->tgid) {
			thread->idle += ns;
		} else if (ran->tgid == thread->tgid) {
			thread->own += ns;
		} else {
			thread->others += ns;
			add_pair(table, thread, ran, ns);
		}
	}
	thread->rest += left;
}

/* The part of the time on this CPU in which the quota of a group throttled the thread, without
 * what the reader has attributed. */
static __always_inline u64 take_throttled(struct thread *thread, struct task_struct *task, u64 now)
{
	struct task_struct___watch *from = (void *)task;
	u64 here = after(now, not_read_from(thread));
	u32 level = thread->level;
	u64 sum, ns;

	if (!bpf_core_field_exists(from->se.cfs_rq) || (u64)from->se.cfs_rq != thread->queue)
		return 0;
	sum = throttled_so_far(task);
	ns = sum > thread->throttled_mark ? sum - thread->throttled_mark : 0;
	if (!ns)
		return 0;
	if (ns > here)
		ns = here;
	if (level >= LEVELS)
		level = LEVEL_UNKNOWN;
	thread->throttled[level & (LEVELS - 1)] += ns;
	return ns;
}

/* The longest time until now in which one other allowed CPU was idle while the thread was
 * runnable. */
static __always_inline u64 stood_beside_idle(struct task_struct *task, u32 own, u64 from, u64 now)
{
	struct task_struct___watch *of = (void *)task;
	u64 longest = 0, since, words[CPUS_LOOKED_AT / 64] = {};

	bpf_probe_read_kernel(words, sizeof(words), of->cpus_ptr);
	/* A CPU goes offline while it is idle, and is still in the mask of most threads. Without a
	 * loop, which the verifier would have to follow. */
	words[0] &= ~offline[0];
	words[1] &= ~offline[1];
	words[2] &= ~offline[2];
	words[3] &= ~offline[3];
	for (u32 i = 0; i < CPUS_LOOKED_AT; i++) {
		u32 number = i;
		struct cpu *cpu;

		if (i >= cpus_known)
			break;
		if (i == own || !(words[(i / 64) & 3] >> (i % 64) & 1))
			continue;
		cpu = bpf_map_lookup_elem(&cpus, &number);
		since = cpu ? cpu->idle_since : 0;
		if (!since)
			continue;
		if (since < from)
			since = from;
		if (now > since && now - since > longest)
			longest = now - since;
	}
	return longest;
}

static __always_inline void stops_waiting(struct thread *thread, struct task_struct *task, u32 number,
					  u64 now)
{
	u64 waited = now > thread->since ? now - thread->since : 0;
	u64 throttled, beside;

	thread->waits++;
	if (!waited)
		return;
	throttled = take_throttled(thread, task, now);
	share_out(thread, number, not_shared_from(thread, throttled), now);
	thread->ready += waited;
	if (waited >= LEAST_STRETCH) {
		note_stretch(thread, now, throttled);
		/* A lock may have passed on another priority meanwhile. */
		thread->prio = prio_of(task);
	}
	keep_worst(thread->worst, thread->worst_of, waited);
	if (throttled)
		keep_worst(thread->throttled_worst, thread->throttled_worst_of, throttled);
	if (waited - throttled < LONG_WAIT)
		return;
	beside = stood_beside_idle(task, number, thread->here + throttled, now);
	thread->beside_idle += beside;
	keep_worst(thread->beside_worst, thread->beside_worst_of, beside);
}

static __always_inline void leaves(void *ctx, struct thread *thread, struct task_struct *task,
				   struct cpu *cpu, u32 number, u64 now, bool preempted)
{
	u32 state = state_of(task);

	if (cpu->since && thread->state == RUNNING)
		thread->ran += now - cpu->since;
	/* A thread may rename itself; the name of a new program is read at exec. */
	if (!(thread->waits % COMM_EVERY)) {
		bpf_probe_read_kernel(thread->comm, COMM, task->comm);
		thread->nice = task->static_prio - PRIO_OF_NICE_0;
	}
	if (preempted)
		return becomes_ready(thread, task, number, now);
	begins_to_sleep(thread, task, now);
	thread->state = state & STATE_UNINTERRUPTIBLE ? UNINTERRUPTIBLE : state & STATE_DEAD ? GONE : ASLEEP;
	thread->since = now;
	if (thread->state == GONE && thread->lock == HOLDS_FOREIGN)
		forget_hold(thread);
	if (thread->state != GONE && is_node(thread->tgid))
		node_sleeps(thread, now);
	if (thread->state == UNINTERRUPTIBLE) {
		may_wait_for_mapping(ctx, thread, task, now);
		may_wait_for_memory(thread, task);
	}
}

/* No switch to this thread was seen: some kernels hide the switches of a process. It had waited
 * at least until the last switch that was seen on this CPU. What ran meanwhile is not looked up:
 * with that loop twice in one program, guests of 5.10 and 7.3 did not load it within a minute. */
static __always_inline void stopped_unseen(struct thread *thread, u64 waited)
{
	thread->waits++;
	thread->ready += waited;
	thread->rest += waited;
	keep_worst(thread->worst, thread->worst_of, waited);
}

/* Records the thread that runs from now on. */
static __always_inline void remember(struct cpu *cpu, struct task_struct *next, struct thread *thread,
				     u64 now)
{
	struct runner *ran = &cpu->ring[(cpu->head + 1) & (RUNNERS - 1)];

	ran->from = now;
	ran->tgid = thread ? thread->tgid : 0;
	ran->prio = prio_of(next);
	ran->normal_prio = normal_prio_of(next);
	ran->session = thread ? thread->session : 0;
	if (thread)
		__builtin_memcpy(ran->comm, thread->comm, COMM);
	cpu->head++;
}

/* The time at which the CPU goes from one thread to another. After a wake-up that preempts, the
 * run queue usually does not read its clock again before the switch (rq_clock_skip_update): it
 * shows the time of the wake-up. Then the preempted thread waits from that time, and the woken
 * thread has not waited; the kernel's run delays count the same. But if the kernel could not
 * switch for long, the time is that of the switch, and the woken thread has waited. */
static __always_inline u64 switched_at(struct cpu *cpu, struct task_struct *next)
{
	u64 now = time_on(cpu, next), asked;

	if (now == cpu->woken_at) {
		asked = bpf_ktime_get_ns();
		if (after(asked, now) >= SWITCHING)
			now = asked;
	}
	return now < cpu->since ? cpu->since : now;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(watch_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	bool preempted = preempt || !state_of(prev);
	struct thread *from, *to;
	u64 now;

	if (!cpu)
		return 0;
	from = prev->pid ? entry_of(prev) : 0;
	to = next->pid ? entry_of(next) : 0;
	/* A CPU may take long to wake from idle, and its run queue may have read its clock before
	 * that. */
	now = prev->pid ? switched_at(cpu, next) : bpf_ktime_get_ns();
	/* `to` may have taken the entry of `from`. */
	if (from && from != to) {
		if (from->state == READY && cpu->since > from->since)
			stopped_unseen(from, cpu->since - from->since);
		leaves(ctx, from, prev, cpu, number, now, preempted);
	}
	remember(cpu, next, to, now);
	cpu->switches++;
	cpu->since = now;
	cpu->idle_since = next->pid ? 0 : now;
	if (!to)
		return 0;
	if (to->state == READY)
		stops_waiting(to, next, number, now);
	to->state = RUNNING;
	to->cpu = number;
	to->since = now;
	return 0;
}

/* The run queue read its clock before the waker sent an interrupt to another CPU. In a virtual
 * machine the interrupt takes long, and the thread was runnable meanwhile. */
static __always_inline void wakes(struct task_struct *task)
{
	u32 number = cpu_of(task);
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	struct thread *thread = entry_of(task);
	u64 now, slept;

	if (!thread || !cpu || thread->state == READY || thread->state == RUNNING || is_running(task))
		return;
	now = cpu->woken_at = time_on(cpu, task);
	if (thread->state == UNINTERRUPTIBLE) {
		slept = after(now, thread->since);
		thread->asleep += slept;
		waited_for_memory(thread, slept);
		may_have_moved(thread, task, slept, now);
		may_have_held_handle(thread, task, slept, now);
	}
	if (thread->sleep)
		node_woken(thread, now);
	/* A reader is given the lock before it is woken: it holds the lock from this moment. */
	if (thread->lock == READS_FOREIGN)
		holds_from(thread, now);
	/* The waker released the lock of a mapping just before this thread fell asleep, so its
	 * waking was not seen. */
	if (thread->lock == WAITS_MAPPING)
		thread->lock = NO_LOCK;
	becomes_ready(thread, task, number, now);
}

/* Runs in the context of the waker; an interrupt on another CPU may do the wake-up itself. */
SEC("tp_btf/sched_waking")
int BPF_PROG(watch_waking, struct task_struct *task)
{
	struct thread *thread = entry_of(task), *waker;
	u64 both = bpf_get_current_pid_tgid();
	bool owes, asked;

	if (!thread || thread->state == READY || thread->state == RUNNING)
		return 0;
	waker = both ? entry_at(both) : 0;
	owes = may_owe(thread, waker);
	asked = owes || thread->lock || commits_journal(waker) || IS_SEVENTEENTH(thread->waits) ||
		thread->waker_of != interval;
	if (asked || slept_long(thread, waker))
		/* An interrupt only happens to run on top of the current task. */
		note_by_nobody(thread, task, !both || is_interrupt());
	if (!asked)
		return 0;
	thread->waker = thread->by_nobody ? 0 : process_of(waker, both);
	thread->waker_of = interval;
	if (thread->waker && thread->state == UNINTERRUPTIBLE) {
		if (thread->lock == WAITS_FOR_HANDLES)
			closes_last_handle(thread, both);
		else if (commits_journal(waker) && !is_of_kernel(task))
			waited_for_journal(thread, waker);
	}
	if (owes && thread->waker)
		is_woken_by(thread, task, waker);
	if (thread->lock == WAITS && thread->waker == thread->tgid) {
		thread->lock_call = current_call();
		bpf_get_current_comm(thread->lock_by, COMM);
	}
	/* If there are no waiters, this call is removed: kernels before 5.11 lack a helper that
	 * it uses. */
	if (waiters[0].to && thread->lock == WAITS_MAPPING)
		is_given_mapping(thread, thread->waker, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(watch_wakeup, struct task_struct *task)
{
	wakes(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(watch_wakeup_new, struct task_struct *task)
{
	wakes(task);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(watch_exec, struct task_struct *task)
{
	struct thread *thread = entry_of(task);

	if (thread)
		bpf_probe_read_kernel(thread->comm, COMM, task->comm);
	return 0;
}

/* A thread that is moved while it is runnable waited behind the threads on the CPU that it
 * leaves. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(watch_migrate, struct task_struct *task, int to)
{
	struct thread *thread = entry_at(task->pid);
	struct cfs_rq___watch *queue;
	u64 now, throttled;

	if (!thread || thread->state != READY)
		return 0;
	now = bpf_ktime_get_ns();
	throttled = take_throttled(thread, task, now);
	share_out(thread, thread->cpu, not_shared_from(thread, throttled), now);
	thread->cpu = to;
	thread->here = now;
	queue = queue_on(task, to);
	thread->throttled_mark = queue ? throttled_on(queue) : 0;
	thread->queue = (u64)queue;
	if (!is_throttled_on(queue))
		thread->level = LEVEL_UNKNOWN;
	return 0;
}

#endif
