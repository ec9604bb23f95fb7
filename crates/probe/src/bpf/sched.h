/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* What the scheduler does to the watched threads. */
#ifndef TAILBACK_SCHED_H
#define TAILBACK_SCHED_H

#include "quota.h"
#include "tables.h"

static __always_inline void becomes_runnable(struct thread *thread, struct task_struct *task,
					     struct cpu *cpu, u64 now)
{
	/* Time up to now of the thread that runs now. It has not been added up yet and is not
	 * counted. */
	u64 under_way;
	u8 part = cpu->part & (PARTS - 1);

	if (cpu->stale) {
		cpu->since = now;
		cpu->stale = 0;
	}
	under_way = cpu->since && now > cpu->since ? now - cpu->since : 0;

	thread->state = RUNNABLE;
	thread->since = now;
	thread->runnable_since = now;
	look_at_quota(task, cpu, thread->cpu, now);
	thread->throttled_mark = throttled_until(cpu, now);
#pragma unroll
	for (int i = 0; i < PARTS; i++)
		thread->mark[i] = cpu->ran[i];
	thread->mark[part] += under_way;
	if (!cpu->runnable)
		cpu->waiting_since = now;
	__sync_fetch_and_add(&cpu->runnable, 1);
	if (thread->hold_mm || thread->granted || (thread->flags & SUSPECT)) {
		thread->counted = 1;
		__sync_fetch_and_add(&cpu->holders, 1);
	}
}

static __always_inline void no_longer_runnable(struct thread *thread, struct cpu *here, u64 now)
{
	struct cpu *there = &cpus[thread->cpu & (CPUS - 1)];
	u64 waited = now - thread->since;

	thread->runnable_ns += waited;
	if (waited > thread->longest_ns)
		thread->longest_ns = waited;
	caught(thread, there, there != here, waited, now);
	if (there->runnable)
		__sync_fetch_and_add(&there->runnable, -1);
	if (thread->counted && there->holders)
		__sync_fetch_and_add(&there->holders, -1);
	thread->counted = 0;
	/* A thread that was moved to another CPU waited behind the threads on the first CPU; how
	 * long it waited on each CPU is not known. */
	if (there != here)
		return;
#pragma unroll
	for (int i = 0; i < PARTS; i++) {
		u64 ran = here->ran[i] - thread->mark[i];

		if (ran <= waited)
			thread->behind[i] += ran;
	}
}

/* Whether this stretch on the CPU may matter. */
static __always_inline bool is_wanted(struct thread *thread, struct cpu *cpu, bool preempted)
{
	/* A thread ran while a holder was runnable. */
	if (waiting > 0 && cpu->holders)
		return true;
	if (!thread)
		return false;
	if (thread->hold_mm || thread->wait_mm)
		return true;
	return preempted && (thread->flags & SUSPECT);
}

static __always_inline void tell_unknown(struct task_struct *task, u64 since, u64 now, bool on)
{
	struct event *out;

	if (!task->pid || !since)
		return;
	out = event(0, RAN, since, now);
	if (!out)
		return;
	out->tid = task->pid;
	out->tgid = task->tgid;
	out->nice = task->static_prio - PRIO_OF_NICE_0;
	out->runnable = out->running = since;
	out->then = on ? RUNNABLE : BLOCKED;
	bpf_probe_read_kernel(out->comm, COMM, task->comm);
	send(out);
}

static __always_inline void tell_ran(struct thread *thread, u64 now, bool preempted, s32 stack)
{
	struct event *out = event(thread, RAN, thread->since, now);

	if (!out)
		return;
	out->then = preempted ? RUNNABLE : BLOCKED;
	out->stack = stack;
	send(out);
}

/* A victim in an uninterruptible sleep may wait for a lock without a tracepoint. */
static __always_inline void falls_asleep(void *ctx, struct thread *thread, u64 now, u32 state)
{
	if (!(thread->flags & VICTIM) || !(state & STATE_UNINTERRUPTIBLE) || thread->wait_mm)
		return;
	thread->asleep = 1;
	thread->slept_from = now;
	thread->stack = stack_of(ctx);
	__sync_fetch_and_add(&waiting, 1);
}

static __always_inline void wakes_up(struct thread *thread, u64 now)
{
	struct event *out;

	thread->asleep = 0;
	__sync_fetch_and_add(&waiting, -1);
	if (now - thread->slept_from < threshold_ns)
		return;
	out = event(thread, SLEPT, thread->slept_from, now);
	if (!out)
		return;
	/* It begins to run now. `since` is still when it became runnable. */
	out->running = now;
	out->stack = thread->stack;
	send(out);
}

static __always_inline void leaves(void *ctx, struct thread *thread, struct task_struct *task,
				   struct cpu *cpu, u64 now, bool preempted)
{
	u32 state = state_of(task);
	s32 stack = -1;

	if (thread->state == RUNNING) {
		thread->running_ns += now - thread->since;
		if (is_wanted(thread, cpu, preempted)) {
			if (preempted && (thread->flags & SUSPECT))
				stack = stack_of(ctx);
			tell_ran(thread, now, preempted, stack);
		}
	}
	if (preempted) {
		thread->preemptions++;
		return becomes_runnable(thread, task, cpu, now);
	}
	falls_asleep(ctx, thread, now, state);
	thread->state = BLOCKED;
	thread->since = now;
}

static __always_inline void slept(struct thread *thread, u64 ns)
{
	thread->blocked_ns += ns;
	if (!thread->call_from)
		return;
	if (thread->polling)
		thread->poll_slept_ns += ns;
	else
		thread->futex_slept_ns += ns;
}

static __always_inline void enters(struct thread *thread, struct task_struct *task, struct cpu *cpu,
				   u32 number, u64 now)
{
	u64 since = thread->since;

	look_at_quota(task, cpu, number, now);

	if (thread->state == RUNNABLE) {
		no_longer_runnable(thread, cpu, now);
	} else {
		/* Its wake-up was not seen; assume that it slept until now. */
		if (thread->state == BLOCKED)
			slept(thread, now - since);
		thread->runnable_since = now;
	}
	if (thread->asleep)
		wakes_up(thread, now);
	if (thread->state != UNKNOWN && thread->cpu != number)
		thread->migrations++;
	thread->cpu = number;
	thread->state = RUNNING;
	thread->since = now;
	cpu->watched = 1;
}

static __always_inline void account(struct cpu *cpu, struct thread *thread, bool idle, u64 now)
{
	u64 ran = cpu->since && !cpu->stale ? now - cpu->since : 0;
	/* A wake-up on another CPU may have set a time after `now`. */
	u64 waited = now > cpu->waiting_since ? now - cpu->waiting_since : 0;

	cpu->since = now;
	cpu->stale = 0;
	if (!idle) {
		cpu->ran[thread ? thread->part & (PARTS - 1) : PART_OTHER] += ran;
		return;
	}
	cpu->ran[PART_IDLE] += ran;
	if (cpu->runnable)
		cpu->idle_while_waiting_ns += ran < waited ? ran : waited;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = &cpus[number & (CPUS - 1)];
	struct thread *from = known(prev), *to = known(next);
	bool preempted;
	u64 since, now;

	/* The running thread matters only while a watched thread runs or is runnable. A watched
	 * thread that wakes now waits behind it. */
	if (!from && !to && !cpu->runnable) {
		u8 part = next->pid ? PART_OTHER : PART_IDLE;

		if (cpu->part != part)
			cpu->part = part;
		if (!cpu->stale)
			cpu->stale = 1;
		return 0;
	}
	now = bpf_ktime_get_ns();
	preempted = preempt || !state_of(prev);
	since = cpu->stale ? 0 : cpu->since;
	account(cpu, from, !prev->pid, now);
	cpu->part = !next->pid ? PART_IDLE : to ? to->part : PART_OTHER;
	if (from) {
		/* A thread that is seen for the first time while it runs has no CPU yet. */
		from->cpu = number;
		leaves(ctx, from, prev, cpu, now, preempted);
	} else if (is_wanted(0, cpu, preempted)) {
		tell_unknown(prev, since, now, preempted);
	}
	if (to)
		enters(to, next, cpu, number, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct thread *thread = known(task);
	u64 now;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	/* A reader that is woken while it waits has been given the lock. It holds the lock from
	 * this moment, though it may wait long for a CPU. */
	if (thread->wait_mm && !thread->wait_write)
		thread->granted = now;
	if (thread->state != BLOCKED)
		return 0;
	slept(thread, now - thread->since);
	becomes_runnable(thread, task, &cpus[thread->cpu & (CPUS - 1)], now);
	return 0;
}

#endif
