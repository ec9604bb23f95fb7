/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Samples of what threads execute: whether they stand at an instruction of active waiting. */
#ifndef TAILBACK_WATCH_SAMPLE_H
#define TAILBACK_WATCH_SAMPLE_H

#include "watch_tables.h"

/* Bytes of code that are looked at, and how many of them lie before the next instruction. */
#define CODE 16
#define BEFORE 6

#if defined(__TARGET_ARCH_x86)
/* As the kernel hands them over. */
struct sample {
	u64 others[16];
	u64 ip;
	u64 cs;
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

SEC("perf_event")
int watch_sample(struct sample *at)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *thread = tid ? entry_at(tid) : 0;
	u8 code[CODE] = {};

	if (!thread || !IN_PROGRAM(at))
		return 0;
	thread->samples++;
	if (!bpf_probe_read_user(code, CODE, (void *)(NEXT(at) - BEFORE)) && waits_actively(code)) {
		thread->spins++;
		thread->spin_at = NEXT(at);
	}
	return 0;
}

#endif
