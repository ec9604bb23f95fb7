/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Samples of what threads execute: whether they are at an instruction of active waiting. */
#ifndef TAILBACK_WATCH_SAMPLE_H
#define TAILBACK_WATCH_SAMPLE_H

#include "watch_node.h"

/* Bytes of code that are checked, and how many of them are before the next instruction. */
#define CODE 16
#define BEFORE 6

#if defined(__TARGET_ARCH_x86)
/* In the form in which the kernel passes it. */
struct sample {
	u64 others[16];
	u64 ip;
	u64 cs;
	u64 flags;
	u64 sp;
};
#define IN_PROGRAM(at) ((at)->cs & 3)
#define NEXT(at) ((at)->ip)

/* `pause`. */
static __always_inline bool waits_actively(const u8 *code)
{
	bool found = false;

	for (int i = 0; i < CODE - 1; i++)
		found |= code[i] == 0xf3 && code[i + 1] == 0x90;
	return found;
}
#else
struct sample {
	u64 registers[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};
/* Exception level 0. */
#define IN_PROGRAM(at) (!((at)->pstate & 0xc))
#define NEXT(at) ((at)->pc)

/* `yield`, `wfe`, `isb`. */
static __always_inline bool waits_actively(const u8 *code)
{
	bool found = false;

	for (int i = 0; i + 3 < CODE; i++) {
		u32 word = code[i] | code[i + 1] << 8 | code[i + 2] << 16 | (u32)code[i + 3] << 24;

		found |= word == 0xd503203f || word == 0xd503205f || word == 0xd5033fdf;
	}
	return found;
}
#endif

static __always_inline void sample_node(struct thread *thread, struct sample *at, bool spins)
{
	u64 now = bpf_ktime_get_ns();
	u64 silent = unpassed_for(thread, clock_of(thread, now));
	struct node_sample *sample = new_sample(thread);

	if (!sample)
		return;
	sample->what = spins ? SAMPLED_SPINNING : silent >= LONG_SILENCE ? SAMPLED_SILENT : SAMPLED_RUNNING;
	sample->call = -1;
	sample->ip = NEXT(at);
	keep_stack(sample, at->sp, now);
}

SEC("perf_event")
int watch_sample(struct sample *at)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = tid ? entry_at(tid) : 0;
	u8 code[CODE] = {};
	bool spins;

	learn_interrupts();
	if (!thread || !IN_PROGRAM(at))
		return 0;
	thread->samples++;
	spins = !bpf_probe_read_user(code, CODE, (void *)(NEXT(at) - BEFORE)) && waits_actively(code);
	if (spins) {
		thread->spins++;
		thread->spin_at = NEXT(at);
	}
	if (is_node(thread->tgid))
		sample_node(thread, at, spins);
	return 0;
}

#endif
