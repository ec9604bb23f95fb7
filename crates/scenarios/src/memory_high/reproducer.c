/*
 * A process in a group with memory.high keeps more memory than this limit. The kernel makes it
 * sleep each time it has taken more. No other sign of this exists. In the control, memory.high is
 * above the need of the process.
 */
static volatile uint64_t *filled;

static void clean_up(void)
{
	stop(0);
	remove_group();
}

static void set_up(void)
{
	char path[512], first;
	int file;

	filled = shared(sizeof(*filled));
	make_group("memory", NULL);
	if (!version_2 || put(group[0], "memory.high", "max"))
		skip("memory.high: no memory controller of cgroup v2");
	snprintf(path, sizeof(path), "%s/memory.pressure", group[0]);
	file = open(path, O_RDONLY);
	/* With psi=0, this file may be there, but it cannot be read. */
	if (file < 0 || read(file, &first, 1) < 0)
		skip("%s: %s", path, strerror(errno));
	close(file);
	remove_group();
}

/* Keeps NEED_BYTES of memory, and fills one unit of it again each time. */
static void worker(long fill)
{
	uint64_t units = NEED_BYTES / UNIT_BYTES, next = 0;
	char *kept = mmap(NULL, NEED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (kept == MAP_FAILED)
		_exit(1);
	madvise(kept, NEED_BYTES, MADV_NOHUGEPAGE);
	join_group();
	for (;; next++) {
		char *unit = kept + next % units * UNIT_BYTES;

		/* This unit might exceed the limit, so the trial begins before it. */
		if ((next + 1) * UNIT_BYTES > (uint64_t)fill)
			*filled = 1;
		if (next >= units)
			madvise(unit, UNIT_BYTES, MADV_DONTNEED);
		memset(unit, 1, UNIT_BYTES);
		if (*filled)
			rest_ns(EVERY_US * 1000ULL);
	}
}

/* The part of the time in which the group waited for memory, in percent. */
static double trial(int with_cause)
{
	uint64_t limit = with_cause ? LIMIT_BYTES : NEED_BYTES + NEED_BYTES / 4 + (16 << 20);
	uint64_t fill = limit - (4 << 20), began, waited;
	char value[32];

	make_group("memory", NULL);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)limit);
	if (put(group[0], "memory.high", value))
		skip("memory.high of %s: %s", group[0], strerror(errno));
	put(group[0], "memory.swap.max", "0");
	*filled = 0;
	start(worker, fill < NEED_BYTES ? fill : NEED_BYTES);
	for (began = now(); !*filled; rest_ms(1))
		if (now() - began > 60000000000ULL)
			broken("the process does not fill its memory");
	began = now();
	waited = counted("memory.pressure", "total=");
	rest_ms(DURATION_MS);
	waited = counted("memory.pressure", "total=") - waited;
	began = now() - began;
	clean_up();
	return 100.0 * waited * 1000 / began;
}
