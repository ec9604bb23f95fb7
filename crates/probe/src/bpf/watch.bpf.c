/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The programs of `tailback watch`: they add up in the kernel, and their reader looks once a
 * second. */
#include "watch_begin.h"
#include "watch_lock.h"
#include "watch_reclaim.h"
#include "watch_sample.h"

/* Some helpers are for programs under the GPL only. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
