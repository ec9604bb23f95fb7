/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The programs of `tailback watch`. They add up in the kernel, and the reader reads the sums once
 * a second. */
#include "watch_begin.h"
#include "watch_lock.h"
#include "watch_reclaim.h"
#include "watch_sample.h"

/* Some helpers are only for programs under the GPL. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
