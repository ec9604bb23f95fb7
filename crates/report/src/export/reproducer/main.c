
/*
 * After so many blocks: no stall where at most so many were worse, and a stall where at least so
 * many were. Each answer is wrong in at most 5% of runs, over all looks together.
 */
static const struct {
	int blocks, none, stall;
} looks[] = LOOKS;

int main(void)
{
	const int last = sizeof(looks) / sizeof(*looks) - 1;
	int worse = 0, state = 4;
	double sum[2] = { 0, 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGHUP, interrupted);
	signal(SIGINT, interrupted);
	signal(SIGQUIT, interrupted);
	signal(SIGTERM, interrupted);
	if (getpid() == 1) {
		mkdir("/proc", 0755);
		mount("proc", "/proc", "proc", 0, NULL);
		mkdir("/sys", 0755);
		mount("sysfs", "/sys", "sysfs", 0, NULL);
		mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	}
	printf("KTAP version 1\n1..1\n");
	set_up();
	for (int block = 1, look = 0; state == 4 && block <= looks[last].blocks; block++) {
		double lost[2];
		int first = chance() >> 33 & 1;

		/* In random order, so that what changes with time meets both. */
		lost[first] = trial(first);
		lost[!first] = trial(!first);
		worse += lost[1] - lost[0] > MARGIN;
		sum[0] += lost[0];
		sum[1] += lost[1];
		printf("# block %d: control %.4g %s, case %.4g %s; %d worse by more than %g %s\n", block,
		       lost[0], UNIT, lost[1], UNIT, worse, (double)MARGIN, UNIT);
		if (block < looks[look].blocks)
			continue;
		printf("# on average: control %.4g %s, case %.4g %s\n", sum[0] / block, UNIT,
		       sum[1] / block, UNIT);
		state = worse >= looks[look].stall ? 1 : worse <= looks[look].none ? 0 : 4;
		look++;
	}
	if (state == 4)
		printf("ok 1 %s # SKIP undecided: %d of %d blocks were worse, which shows neither more than "
		       "half nor less than 30%%\n", NAME, worse, looks[last].blocks);
	else
		printf("%sok 1 %s\n", state ? "not " : "", NAME);
	finish(state);
}
