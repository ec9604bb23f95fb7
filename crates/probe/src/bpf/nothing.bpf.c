/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Programs that do nothing, where those of the scheduler's evidence are: the least that any probe
 * there costs. For scripts/bench-probes alone. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch)
{
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking)
{
	return 0;
}
