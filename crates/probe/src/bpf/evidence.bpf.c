/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The programs that gather evidence. Each stands alone: where a kernel lacks its tracepoint it is
 * not loaded, and only its evidence is missing. */
#include "sched.h"
#include "mmap_lock.h"
#include "futex.h"

/* Some helpers are for programs under the GPL only. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
