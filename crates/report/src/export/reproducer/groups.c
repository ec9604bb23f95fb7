
/* A control group of this program's own: folders of version 2, or of version 1. */
static char group[2][160];
static int version_2, folders;
static char enabled[32];

static int put(const char *folder, const char *file, const char *value)
{
	char path[512];
	int f, wrong;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = open(path, O_WRONLY);
	if (f < 0)
		return -1;
	wrong = write(f, value, strlen(value)) < 0;
	close(f);
	return wrong ? -1 : 0;
}

/* The number behind a key in a file of the group; the first number where there is no key. */
static uint64_t counted(const char *file, const char *key)
{
	char path[512], text[4096], *at;
	ssize_t length = -1;

	for (int i = 0; i < folders && length < 0; i++) {
		int f;

		snprintf(path, sizeof(path), "%s/%s", group[i], file);
		f = open(path, O_RDONLY);
		if (f < 0)
			continue;
		length = read(f, text, sizeof(text) - 1);
		close(f);
	}
	if (length < 0)
		broken("%s of the group: %s", file, strerror(errno));
	text[length] = 0;
	at = *key ? strstr(text, key) : text;
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Whether a file has a word. */
static int has(const char *path, const char *word)
{
	char text[512] = "";
	FILE *f = fopen(path, "r");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			*text = 0;
		fclose(f);
	}
	for (char *at = strtok(text, " \n"); at; at = strtok(NULL, " \n"))
		if (!strcmp(at, word))
			return 1;
	return 0;
}

/* Makes a group with one of these controllers of version 1, or that of version 2. */
static void make_group(const char *controller, const char *more)
{
	const char *names[2] = { controller, more };

	version_2 = access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;
	folders = version_2 || !more ? 1 : 2;
	if (version_2 && !has("/sys/fs/cgroup/cgroup.subtree_control", controller)) {
		snprintf(enabled, sizeof(enabled), "+%s", controller);
		put("/sys/fs/cgroup", "cgroup.subtree_control", enabled);
	}
	for (int i = 0; i < folders; i++) {
		snprintf(group[i], sizeof(group[i]), "/sys/fs/cgroup/%s%sstall-%d",
			 version_2 ? "" : names[i], version_2 ? "" : "/", (int)getpid());
		/* Two controllers of version 1 may share a folder. */
		if (mkdir(group[i], 0755) && (i == 0 || errno != EEXIST))
			skip("a control group with %s: %s: %s", names[i], group[i], strerror(errno));
	}
}

/* The process that calls this joins the group. */
static void join_group(void)
{
	for (int i = 0; i < folders; i++)
		if (put(group[i], "cgroup.procs", "0"))
			_exit(1);
}

static void remove_group(void)
{
	/* A process that was killed may be there for a moment. */
	for (int i = 0; i < folders; i++)
		for (int tries = 0; rmdir(group[i]) && errno == EBUSY && tries < 1000; tries++)
			rest_ms(1);
	folders = 0;
	if (*enabled) {
		*enabled = '-';
		put("/sys/fs/cgroup", "cgroup.subtree_control", enabled);
		*enabled = 0;
	}
}
