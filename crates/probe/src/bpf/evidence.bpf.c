/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The programs that gather evidence. Each one is independent: if a kernel lacks its tracepoint,
 * it is not loaded, and only its evidence is missing. */
#include "sched.h"
#include "mmap_lock.h"
#include "futex.h"

/* Some helpers are only for programs under the GPL. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
