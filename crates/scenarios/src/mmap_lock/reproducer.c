/*
 * A process maps and unmaps single pages of a region, alone on a CPU. On another CPU readers with
 * nice NICE read PROCFILE of its folder in /proc, among spinners with nice 0. A reader that is
 * preempted while it holds the mmap lock keeps each call waiting. In the control they read an idle
 * twin with as many mappings as that process has half way through a trial.
 */
struct seen {
	volatile uint64_t pid[2], begun, lost, done, go;
	volatile int refused;
};
static struct seen *seen;
static int cpu_mapper, cpu_load, read_mapper;
static uint64_t page_size, pages, calls_of_twin;

static void clean_up(void)
{
	stop(0);
}

static void set_up(void)
{
	char path[64];

	cpu_mapper = cpu_at(0);
	cpu_load = cpu_at(1);
	/* Some C libraries have no function for the policy. */
	if (getpriority(PRIO_PROCESS, 0) || syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER)
		skip("run it at nice 0 and under the usual policy");
	page_size = sysconf(_SC_PAGESIZE);
	pages = REGION_BYTES / page_size;
	if (!pages)
		skip("the region is smaller than a page");
	/* After 3 calls per page, the region is split as far as it will ever be. */
	calls_of_twin = DURATION_MS * 1000ULL / 2 / (PAUSE_US + 20);
	if (calls_of_twin > 3 * pages)
		calls_of_twin = 3 * pages;
	seen = shared(sizeof(*seen));
	snprintf(path, sizeof(path), "/proc/self/%s", PROCFILE);
	if (access(path, R_OK))
		skip("%s: %s", path, strerror(errno));
}

/* Maps or unmaps one page. Both split the region into more and more mappings. */
static void call(char *region, char *there)
{
	uint64_t page = chance() % pages;
	char *at = region + page * page_size;

	if (there[page])
		munmap(at, page_size);
	else
		mmap(at, page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0);
	there[page] = !there[page];
}

/* The process with the mappings: the mapper, or its idle twin. */
static void mapper(long twin)
{
	char *there = malloc(pages);
	char *region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (region == MAP_FAILED || !there)
		_exit(1);
	memset(there, 1, pages);
	pin(twin ? cpu_load : cpu_mapper);
	for (uint64_t i = 0; i < 256 + (twin ? calls_of_twin : 0); i++)
		call(region, there);
	seen->pid[twin] = getpid();
	while (twin)
		pause();
	while (!seen->go)
		rest_ms(1);
	for (uint64_t end = now() + DURATION_MS * 1000000ULL; now() < end;) {
		uint64_t took;

		seen->begun = now();
		call(region, there);
		took = now() - seen->begun;
		seen->begun = 0;
		if (took > 1000000)
			seen->lost += took;
		rest_ns(PAUSE_US * 1000);
	}
	seen->done = 1;
	pause();
}

static void reader(long nice)
{
	static char buffer[128 << 10];
	char path[64];
	int file;

	pin(cpu_load);
	if (setpriority(PRIO_PROCESS, 0, nice))
		seen->refused = errno;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)seen->pid[!read_mapper], PROCFILE);
	while ((file = open(path, O_RDONLY)) >= 0) {
		while (read(file, buffer, sizeof(buffer)) > 0)
			;
		close(file);
	}
}

static void spinner(long unused)
{
	struct stat status;
	char path[64];

	(void)unused;
	pin(cpu_load);
	/* In the control too they look at the mapper: their effect on it is not the cause. */
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)seen->pid[0], PROCFILE);
	while (stat(path, &status) == 0)
		;
}

/* Time lost in calls longer than a millisecond, in milliseconds per second. */
static double trial(int with_cause)
{
	uint64_t end, lost, begun, at;

	memset(seen, 0, sizeof(*seen));
	read_mapper = with_cause;
	start(mapper, 1);
	start(mapper, 0);
	for (end = now() + 10000000000ULL; !seen->pid[0] || !seen->pid[1]; rest_ms(1))
		if (now() > end)
			broken("the process with the mappings does not come up");
	for (int i = 0; i < READERS; i++)
		start(reader, NICE);
	rest_ms(LEAD_MS);
	for (int i = 0; i < SPINNERS; i++)
		start(spinner, 0);
	seen->go = 1;
	for (at = now(), end = at + (DURATION_MS + HANG_MS) * 1000000ULL; !seen->done && now() < end;)
		rest_ms(1);
	if (seen->refused)
		broken("nice %d for the readers: %s", NICE, strerror(seen->refused));
	lost = seen->lost;
	begun = seen->begun;
	/* A call that has not returned counts with its whole time. */
	if (!seen->done && begun && now() > begun)
		lost += now() - begun;
	at = now() - at;
	stop(0);
	return lost / 1e6 / (at / 1e9);
}
