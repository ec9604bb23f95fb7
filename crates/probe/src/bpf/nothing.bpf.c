/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Programs that do nothing, where those of the scheduler's evidence are: the least that any probe
 * there costs. For scripts/bench-probes alone. */
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

NOTHING("tp_btf/sched_switch", on_switch)
NOTHING("tp_btf/sched_waking", on_waking)
