/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Threads of Erlang nodes: where they sleep, and how long they run without returning to the VM. A
 * scheduler of the VM waits in a futex or in poll. If it sleeps elsewhere, native code holds it.
 * Between two processes each scheduler passes a point. The VM increments a counter when all
 * schedulers that are awake have passed it. While the counter stands still, one of them does not
 * return. */
#ifndef TAILBACK_WATCH_NODE_H
#define TAILBACK_WATCH_NODE_H

#include "watch_mapping.h"

/* CPU time without a change of the counter from which a stretch counts as silent, in
 * nanoseconds. */
#define LONG_SILENCE 8000000
/* Least time between two samples of a thread's sleeps, in milliseconds. */
#define SAMPLE_EVERY_MS 20

#if defined(__TARGET_ARCH_x86)
/* futex, futex_waitv, futex_wait. */
#define IS_FUTEX(call) ((call) == 202 || (call) == 449 || (call) == 455)
/* poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2. */
#define IS_POLL(call)                                                                                          \
	((call) == 7 || (call) == 23 || (call) == 232 || (call) == 270 || (call) == 271 || (call) == 281 ||    \
	 (call) == 441)
#else
#define IS_FUTEX(call) ((call) == 98 || (call) == 449 || (call) == 455)
#define IS_POLL(call) ((call) == 22 || (call) == 72 || (call) == 73 || (call) == 441)
#endif

/* A slot for a sample, among those of this CPU: kernels before 5.12 cannot use one shared
 * counter. */
static __always_inline struct node_sample *new_sample(struct thread *thread)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	u32 each = SAMPLES / (cpus_known ? cpus_known : 1);
	struct node_sample *sample;
	u32 key;

	if (!cpu || !each)
		return 0;
	key = (number * each + (u32)cpu->samples++ % each) & (SAMPLES - 1);
	sample = bpf_map_lookup_elem(&node_samples, &key);
	if (sample) {
		*(volatile u64 *)&sample->at = 0;
		sample->pid = thread->tgid;
		sample->tid = thread->tid_here;
	}
	return sample;
}

/* Stores as much of the stack as is readable. Setting the time marks the sample as complete. */
static __always_inline void keep_stack(struct node_sample *sample, u64 sp, u64 now)
{
	if (bpf_probe_read_user(sample->stack, sizeof(sample->stack), (void *)sp) &&
	    bpf_probe_read_user(sample->stack, sizeof(sample->stack) / 4, (void *)sp))
		sample->stack[0] = 0;
	*(volatile u64 *)&sample->at = now;
}

/* The current thread falls asleep: records the call, and now and then a sample of the stack. */
static __always_inline void node_sleeps(struct thread *thread, u64 now)
{
	u32 now_ms = now / 1000000;
	struct pt_regs___watch *regs;
	struct node_sample *sample;
	struct task_struct *task;
	s64 call;

	thread->sleep = SLEEPS_UNKNOWN;
	if (!bpf_core_enum_value_exists(enum bpf_func_id___watch, BPF_FUNC_task_pt_regs___watch))
		return;
	task = bpf_get_current_task_btf();
	regs = (void *)bpf_task_pt_regs(task);
	call = CALL_OF(regs);
	thread->sleep_call = call;
	thread->passed_at = thread->ran;
	/* The VM changes its memory map too, and sleeps while another thread holds that lock. */
	if (CHANGES_MAP(call) || other_numbers(task))
		return;
	thread->sleep = call < 0 ? SLEEPS_FAULT : IS_FUTEX(call) ? SLEEPS_FUTEX :
				IS_POLL(call) ? SLEEPS_POLL : SLEEPS_CALL;
	if (thread->sleep != SLEEPS_CALL || now_ms - thread->sampled_at < SAMPLE_EVERY_MS)
		return;
	thread->sampled_at = now_ms;
	sample = new_sample(thread);
	if (!sample)
		return;
	sample->what = SAMPLED_ASLEEP;
	sample->call = call;
	sample->ip = NEXT_OF(regs);
	keep_stack(sample, regs->sp, now);
}

/* A thread wakes up that slept until now. */
static __always_inline void node_woken(struct thread *thread, u64 now)
{
	u64 slept = after(now, thread->since);

	if (thread->sleep == SLEEPS_FUTEX)
		thread->futex += slept;
	if (thread->sleep == SLEEPS_POLL)
		thread->poll += slept;
	if (thread->sleep == SLEEPS_CALL) {
		thread->native += slept;
		thread->native_calls++;
		keep_worst(thread->native_worst, thread->native_worst_of, slept);
	}
	thread->sleep = SLEEPS_UNKNOWN;
}

/* The CPU time of the current thread until now. */
static __always_inline u64 clock_of(struct thread *thread, u64 now)
{
	return thread->ran + (thread->state == RUNNING && now > thread->since ? now - thread->since : 0);
}

/* The address at which the VM of a node counts the passes of its schedulers; 0 if it is not
 * known. */
static __always_inline u64 passes_of(u32 pid)
{
	for (int i = 0; i < NODES; i++)
		if (nodes[i] == pid)
			return passes_at[i];
	return 0;
}

/* CPU time of the current thread since the VM counted a pass. */
static __always_inline u64 unpassed_for(struct thread *thread, u64 clock)
{
	u64 at = passes_of(thread->tgid), passes = 0;

	if (!at || bpf_probe_read_user(&passes, sizeof(passes), (void *)at))
		return 0;
	if (passes != thread->passes) {
		thread->passes = passes;
		thread->passed_at = clock;
	}
	return clock > thread->passed_at ? clock - thread->passed_at : 0;
}

/* Attached while native code keeps a scheduler busy. A long stretch is counted while it
 * continues. */
SEC("perf_event")
int watch_pass(void *ctx)
{
	struct thread *thread = entry_at((u32)bpf_get_current_pid_tgid());
	u64 clock, silent, from;

	if (!thread || !is_node(thread->tgid))
		return 0;
	clock = clock_of(thread, bpf_ktime_get_ns());
	silent = unpassed_for(thread, clock);
	if (silent < LONG_SILENCE)
		return 0;
	from = thread->passed_at;
	if (thread->silent_until > from)
		from = thread->silent_until;
	else
		thread->silent_calls++;
	thread->silent += after(clock, from);
	if (clock > thread->silent_until)
		thread->silent_until = clock;
	keep_worst(thread->silent_worst, thread->silent_worst_of, silent);
	return 0;
}

#endif
