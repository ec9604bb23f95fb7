/*
 * A group with a CPU quota has busy threads. It also has one thread on every CPU that repeatedly
 * wakes up for some microseconds. Each CPU takes its share of the quota in slices. If slices
 * expire, the slices of the nearly idle CPUs are lost. In the control, all threads are on as few
 * CPUs as can use the quota, and no slice lies idle.
 */
static volatile uint64_t *go;
static int on_cpus;

static void clean_up(void)
{
	stop(0);
	remove_group();
}

static void set_up(void)
{
	cpu_at(SPREAD - 1);
	go = shared(sizeof(*go));
}

static void worker(long number)
{
	join_group();
	pin(cpu_at(number % on_cpus));
	while (!*go)
		rest_ms(1);
	for (volatile uint64_t work = 0;; work++)
		if (number >= FAST && work % 1000 == 999)
			rest_ns(WAKE_US * 1000ULL);
}

/* Waits for `periods` periods and a refill just before. Returns the CPU time in us. */
static uint64_t used_at(uint64_t periods, uint64_t *counted_periods)
{
	uint64_t before, end = now() + (DURATION_MS + 60000) * 1000000ULL;

	do {
		before = counted("cpu.stat", "nr_periods ");
		rest_ns(100000);
		*counted_periods = counted("cpu.stat", "nr_periods ");
		if (now() > end)
			broken("no quota is handed out in the group");
	} while (*counted_periods < periods || *counted_periods == before);
	return version_2 ? counted("cpu.stat", "usage_usec ") : counted("cpuacct.usage", "") / 1000;
}

/* The part of its quota that the group did not get, in percent, in periods in which it was
 * throttled. In the others it wanted no more, or other programs took its CPUs. */
static double trial(int with_cause)
{
	uint64_t first, last, used, throttled;
	char value[64];

	make_group("cpu", "cpuacct");
	snprintf(value, sizeof(value), version_2 ? "%d %d" : "%d", QUOTA_US, PERIOD_US);
	if (!version_2) {
		char period[32];

		snprintf(period, sizeof(period), "%d", PERIOD_US);
		put(group[0], "cpu.cfs_period_us", period);
	}
	if (put(group[0], version_2 ? "cpu.max" : "cpu.cfs_quota_us", value))
		skip("a quota for %s: %s", group[0], strerror(errno));
	on_cpus = with_cause ? SPREAD : NARROW;
	*go = 0;
	for (int i = 0; i < THREADS; i++)
		start(worker, i);
	rest_ms(20);
	*go = 1;
	used = used_at(counted("cpu.stat", "nr_periods ") + 3, &first);
	throttled = counted("cpu.stat", "nr_throttled ");
	used = used_at(first + DURATION_MS * 1000ULL / PERIOD_US, &last) - used;
	throttled = counted("cpu.stat", "nr_throttled ") - throttled;
	clean_up();
	if (used >= (last - first) * QUOTA_US)
		return 0;
	return (100 - 100.0 * used / ((last - first) * QUOTA_US)) * throttled / (last - first);
}
