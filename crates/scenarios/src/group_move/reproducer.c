/*
 * A process writes the process ID of a child, which sleeps, into cgroup.procs of two groups in
 * turn, with a pause before each write. Each write waits for an RCU grace period, unless another
 * process was moved just before. In the control it writes to another file of the same groups.
 */
static char below[2][192];
static volatile uint64_t *joined;

static void clean_up(void)
{
	stop(0);
	/* A process that was killed may be there for a moment. */
	for (int i = 0; i < 2 && *below[i]; i++)
		for (int tries = 0; rmdir(below[i]) && errno == EBUSY && tries < 1000; tries++)
			rest_ms(1);
	remove_group();
}

/* Makes a group, and the two groups below it. */
static void make_groups(void)
{
	make_group("cpu", NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(below[i], sizeof(below[i]), "%s/%d", group[0], i);
		if (mkdir(below[i], 0755))
			skip("a control group: %s: %s", below[i], strerror(errno));
	}
}

static void set_up(void)
{
	joined = shared(sizeof(*joined));
	make_groups();
	clean_up();
}

static void sleeper(long number)
{
	(void)number;
	join_group();
	*joined = 1;
	for (;;)
		pause();
}

/* A file for writing, in one of the groups. */
static int open_in(int i, const char *file)
{
	char path[256];
	int f;

	snprintf(path, sizeof(path), "%s/%s", below[i], file);
	f = open(path, O_WRONLY);
	if (f < 0)
		skip("%s: %s", path, strerror(errno));
	return f;
}

/* The time in writes longer than 5 ms, in ms per second. */
static double trial(int with_cause)
{
	const char *file = "cgroup.procs";
	char pid[32], value[32] = "max", *text = pid;
	uint64_t began, lost = 0;
	int f[2];

	make_groups();
	*joined = 0;
	snprintf(pid, sizeof(pid), "%d", (int)start(sleeper, 0));
	for (began = now(); !*joined; rest_ms(1))
		if (now() - began > 60000000000ULL)
			broken("the child does not join its group");
	if (put(below[0], file, pid))
		skip("%s/%s: %s", below[0], file, strerror(errno));
	if (!with_cause) {
		/* A write of the value that is there changes nothing. */
		file = version_2 ? "cgroup.max.depth" : "notify_on_release";
		if (!version_2)
			snprintf(value, sizeof(value), "%d", (int)counted(file, ""));
		text = value;
	}
	for (int i = 0; i < 2; i++)
		f[i] = open_in(i, file);
	began = now();
	/* The child is in the first group. */
	for (int next = 1; now() - began < DURATION_MS * 1000000ULL; next = !next) {
		uint64_t asked, took;

		if (GAP_US)
			rest_ns(GAP_US * 1000ULL);
		asked = now();
		if (write(f[next], text, strlen(text)) < 0)
			broken("%s/%s: %s", below[next], file, strerror(errno));
		took = now() - asked;
		if (took > 5000000)
			lost += took;
	}
	began = now() - began;
	for (int i = 0; i < 2; i++)
		close(f[i]);
	clean_up();
	return lost * 1000.0 / began;
}
