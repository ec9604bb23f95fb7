/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The lock of an address space: which other processes read under it, and how long the process's
 * own threads wait for it. */
#ifndef TAILBACK_WATCH_LOCK_H
#define TAILBACK_WATCH_LOCK_H

#include "watch_clock.h"

/* Calls that read from a file descriptor. */
#if defined(__TARGET_ARCH_x86)
#define READS_FILE(call) ((call) == 0 || (call) == 17 || (call) == 19 || (call) == 295)
#else
#define READS_FILE(call) ((call) == 63 || (call) == 67 || (call) == 65 || (call) == 69)
#endif

static __always_inline u64 sum_of_throttled(struct thread *thread)
{
	u64 sum = 0;

#pragma unroll
	for (int i = 0; i < LEVELS; i++)
		sum += thread->throttled[i];
	return sum;
}

/* The name of the file that the current thread reads, found by its descriptor. */
static __always_inline void name_file(struct task_struct *task, struct thread *thread)
{
	struct pt_regs___watch *regs;
	struct files_struct___watch *files;
	struct fdtable___watch *table;
	struct file___watch **all, *file;
	const unsigned char *name;
	u64 fd;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___watch, BPF_FUNC_task_pt_regs___watch))
		return;
	regs = (void *)bpf_task_pt_regs(task);
	thread->call = 0;
	if (other_numbers(task))
		return;
	thread->call = CALL_OF(regs);
	if (!READS_FILE(thread->call))
		return;
	fd = FIRST_ARGUMENT(regs);
	files = (void *)((struct task_struct___watch *)task)->files;
	table = BPF_CORE_READ(files, fdt);
	if (fd >= BPF_CORE_READ(table, max_fds))
		return;
	all = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &all[fd]);
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	bpf_probe_read_kernel_str(thread->file, FILE_NAME, name);
}

static __always_inline struct space *space_of(u64 mm)
{
	struct space *space = bpf_map_lookup_elem(&spaces, &mm);

	if (space)
		return space;
	bpf_map_update_elem(&spaces, &mm, &blank_space, BPF_NOEXIST);
	return bpf_map_lookup_elem(&spaces, &mm);
}

/* Total time up to now in which threads of other processes held the lock of an address space. */
static __always_inline u64 held_so_far(struct space *space, u64 now)
{
	u64 since = space->since;

	return space->ns + (space->holders > 0 && now > since ? now - since : 0);
}

static __always_inline struct thread *current_entry(void)
{
	return entry_of(bpf_get_current_task_btf());
}

/* The task that a memory map belongs to; 0 if the kernel does not record it. */
static __always_inline struct task_struct *owner_of(u64 mm)
{
	struct mm_struct___watch *space = (void *)mm;

	if (!bpf_core_field_exists(space->owner))
		return 0;
	return BPF_CORE_READ(space, owner);
}

static __always_inline bool notes_owner(void)
{
	struct mm_struct___watch *space = 0;

	return bpf_core_field_exists(space->owner);
}

static __always_inline bool is_own(u64 mm)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return mm == (u64)task->mm;
}

static __always_inline void begins_to_wait_own(u64 mm, u64 now)
{
	struct thread *thread = current_entry();
	struct space *space = bpf_map_lookup_elem(&spaces, &mm);

	if (!thread || thread->lock == HOLDS_FOREIGN)
		return;
	thread->space = mm;
	thread->lock_from = now;
	thread->lock_mark = space ? held_so_far(space, now) : 0;
	/* Last, since the reader may read the entry meanwhile. */
	asm volatile("" ::: "memory");
	thread->lock = WAITS;
}

static __always_inline void ends_wait_own(u64 mm, u64 now)
{
	struct thread *thread = current_entry();
	struct space *space = bpf_map_lookup_elem(&spaces, &mm);
	u64 waited, foreign = 0;

	if (!thread || thread->lock != WAITS)
		return;
	waited = after(now, thread->lock_from);
	thread->lock = NO_LOCK;
	thread->lock_ns += waited;
	thread->lock_waits++;
	if (space)
		foreign = held_so_far(space, now);
	foreign = foreign > thread->lock_mark ? foreign - thread->lock_mark : 0;
	if (foreign > waited)
		foreign = waited;
	thread->foreign_ns += foreign;
	keep_worst(thread->lock_worst, thread->lock_worst_of, foreign);
	keep_worst(thread->own_lock_worst, thread->own_lock_worst_of, waited - foreign);
}

/* The thread takes another lock or ends, so it has released this one unseen; when is not known.
 * The table may have dropped the entry with the hold, and made it again since. */
static __always_inline void forget_hold(struct thread *thread)
{
	u64 mm = thread->space;
	struct space *space = bpf_map_lookup_elem(&spaces, &mm);

	thread->lock = NO_LOCK;
	if (space && space->holders > 0 && space->since <= thread->hold_from)
		__sync_fetch_and_add(&space->holders, -1);
}

static __always_inline void begins_to_read(u64 mm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *owner = owner_of(mm);
	u32 target = owner ? BPF_CORE_READ(owner, tgid) : 0;
	struct thread *thread;

	/* A process in exec has a new memory map that is not yet its own, and one that exits has
	 * a map without an owner. */
	if (target == (u32)task->tgid || (!target && notes_owner()))
		return;
	thread = entry_of(task);
	if (!thread)
		return;
	if (thread->lock == HOLDS_FOREIGN)
		forget_hold(thread);
	thread->lock = READS_FOREIGN;
	thread->target = target ? process_number(owner) : 0;
	thread->space = mm;
	thread->hold_from = 0;
}

/* It holds the lock from now on. */
static __always_inline void holds_from(struct thread *thread, u64 now)
{
	thread->hold_from = now;
	thread->hold_ready = thread->ready;
	thread->hold_throttled = sum_of_throttled(thread);
}

static __always_inline void begins_to_hold(u64 mm, bool success, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = entry_of(task);
	struct space *space;

	if (!thread || thread->lock != READS_FOREIGN || thread->space != mm)
		return;
	thread->lock = NO_LOCK;
	space = success ? space_of(mm) : 0;
	if (!space)
		return;
	/* If it was given the lock while it slept, it holds the lock from its wake-up on. */
	if (!thread->hold_from)
		holds_from(thread, now);
	__builtin_memset(thread->file, 0, FILE_NAME);
	name_file(task, thread);
	thread->lock = HOLDS_FOREIGN;
	if (space->holders <= 0)
		space->since = thread->hold_from;
	__sync_fetch_and_add(&space->holders, 1);
}

/* `ready` and `throttled` are parts of the time that it held the lock. An atomic addition of a
 * constant zero becomes another operation, which kernels before 5.12 lack. */
static __always_inline void add_hold(struct task_struct *task, struct thread *thread, u64 held, u64 ready,
				     u64 throttled)
{
	struct reader_key key = {};
	struct reader *reader;

	key.reader = thread->tgid;
	key.target = thread->target;
	key.call = thread->file[0] ? 0 : thread->call;
	__builtin_memcpy(key.file, thread->file, FILE_NAME);
	reader = bpf_map_lookup_elem(&readers, &key);
	if (!reader) {
		bpf_map_update_elem(&readers, &key, &blank_reader, BPF_NOEXIST);
		reader = bpf_map_lookup_elem(&readers, &key);
		if (!reader)
			return;
	}
	__sync_fetch_and_add(&reader->holds, 1);
	__sync_fetch_and_add(&reader->ns, held);
	if (ready)
		__sync_fetch_and_add(&reader->ready, ready);
	if (throttled)
		__sync_fetch_and_add(&reader->throttled, throttled);
	keep_worst(reader->worst, reader->worst_of, held);
	reader->tid = thread->tid_here;
	reader->nice = task->static_prio - PRIO_OF_NICE_0;
	__builtin_memcpy(reader->comm, thread->comm, COMM);
}

static __always_inline void lets_go(u64 mm, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = entry_of(task);
	struct space *space = bpf_map_lookup_elem(&spaces, &mm);

	if (!thread || thread->lock != HOLDS_FOREIGN || thread->space != mm)
		return;
	thread->lock = NO_LOCK;
	add_hold(task, thread, now > thread->hold_from ? now - thread->hold_from : 0,
		 thread->ready - thread->hold_ready, sum_of_throttled(thread) - thread->hold_throttled);
	if (!space || space->holders <= 0)
		return;
	__sync_fetch_and_add(&space->holders, -1);
	if (space->holders <= 0 && now > space->since)
		space->ns += now - space->since;
}

static __always_inline void starts(u64 mm, bool write)
{
	if (!is_own(mm)) {
		if (!write)
			begins_to_read(mm);
		return;
	}
	if (!contention)
		begins_to_wait_own(mm, bpf_ktime_get_ns());
}

static __always_inline void returned(u64 mm, bool write, bool success)
{
	if (!is_own(mm)) {
		if (!write)
			begins_to_hold(mm, success, bpf_ktime_get_ns());
		return;
	}
	if (!contention)
		ends_wait_own(mm, bpf_ktime_get_ns());
}

/* On some kernels the name of the memory group comes after the address space. */
SEC("raw_tp/mmap_lock_start_locking")
int watch_lock_start(u64 *ctx)
{
	starts(ctx[0], ctx[1] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_start_locking")
int watch_lock_start_group(u64 *ctx)
{
	starts(ctx[0], ctx[2] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_acquire_returned")
int watch_lock_returned(u64 *ctx)
{
	returned(ctx[0], ctx[1] & 1, ctx[2] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_acquire_returned")
int watch_lock_returned_group(u64 *ctx)
{
	returned(ctx[0], ctx[2] & 1, ctx[3] & 1);
	return 0;
}

SEC("raw_tp/mmap_lock_released")
int watch_lock_released(u64 *ctx)
{
	if (!is_own(ctx[0]))
		lets_go(ctx[0], bpf_ktime_get_ns());
	return 0;
}

/* Bits by which a contention tracepoint gives the kind of a lock. */
#define FOR_READING 2
#define FOR_WRITING 4

/* The memory map of the current thread, if `lock` is the lock of that map; 0 otherwise. */
static __always_inline u64 space_of_lock(u64 lock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 mm = (u64)task->mm;

	return mm && lock == mm + bpf_core_field_offset(struct mm_struct___watch, mmap_lock) ? mm : 0;
}

SEC("raw_tp/contention_begin")
int watch_contention(u64 *ctx)
{
	u64 mm;

	if (!(ctx[1] & (FOR_READING | FOR_WRITING)))
		return 0;
	mm = space_of_lock(ctx[0]);
	if (mm)
		begins_to_wait_own(mm, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/contention_end")
int watch_contention_end(u64 *ctx)
{
	u64 mm = space_of_lock(ctx[0]);

	if (mm)
		ends_wait_own(mm, bpf_ktime_get_ns());
	return 0;
}

#endif
