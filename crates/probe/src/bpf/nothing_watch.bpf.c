/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Programs that do nothing, at the tracepoints where `tailback watch` has a program for every
 * context switch: the minimal cost of any program there. Only for scripts/bench-watch. */
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

NOTHING("tp_btf/sched_switch", on_switch)
NOTHING("tp_btf/sched_waking", on_waking)
NOTHING("tp_btf/sched_wakeup", on_wakeup)
NOTHING("tp_btf/sched_wakeup_new", on_wakeup_new)
NOTHING("tp_btf/sched_migrate_task", on_migrate)
NOTHING("tp_btf/sched_process_exec", on_exec)
NOTHING("raw_tp/mmap_lock_start_locking", on_lock_start)
NOTHING("raw_tp/mmap_lock_acquire_returned", on_lock_returned)
NOTHING("raw_tp/mmap_lock_released", on_lock_released)
NOTHING("raw_tp/contention_begin", on_contention)
NOTHING("raw_tp/contention_end", on_contention_end)
