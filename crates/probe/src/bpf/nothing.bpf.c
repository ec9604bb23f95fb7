/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Programs that do nothing, at the tracepoints of the scheduler programs: the minimal cost of any
 * probe there. Only for scripts/bench-probes. */
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

NOTHING("tp_btf/sched_switch", on_switch)
NOTHING("tp_btf/sched_waking", on_waking)
