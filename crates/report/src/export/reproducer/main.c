
/* How likely at least k of n fair coins show heads. */
static double by_chance(int n, int k)
{
	double sum = 0, term = 1;

	for (int i = 0; i < n; i++)
		term /= 2;
	for (int i = 0; i <= n; i++) {
		if (i >= k)
			sum += term;
		term = term * (n - i) / (i + 1);
	}
	return sum;
}

int main(void)
{
	int worse = 0, hidden;
	double sum[2] = { 0, 0 }, share = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGHUP, interrupted);
	signal(SIGINT, interrupted);
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
	for (int block = 1; block <= BLOCKS; block++) {
		double lost[2];
		int first = chance() >> 33 & 1;

		/* In random order, so that what changes with time meets both. */
		lost[first] = trial(first);
		lost[!first] = trial(!first);
		worse += lost[1] - lost[0] > MARGIN;
		sum[0] += lost[0];
		sum[1] += lost[1];
		printf("# block %d: control %.4g %s, case %.4g %s\n", block, lost[0], UNIT, lost[1], UNIT);
	}
	/* The share of blocks below which so few would be worse in 5% only. */
	for (int i = 0; i < BLOCKS; i++)
		share *= 0.7;
	hidden = worse == 0 && share < 0.05;
	printf("# on average: control %.4g %s, case %.4g %s; worse by more than %g %s in %d of %d\n",
	       sum[0] / BLOCKS, UNIT, sum[1] / BLOCKS, UNIT, (double)MARGIN, UNIT, worse, BLOCKS);
	if (by_chance(BLOCKS, worse) <= 0.025) {
		printf("not ok 1 %s\n", NAME);
		finish(1);
	}
	if (hidden) {
		printf("ok 1 %s\n", NAME);
		finish(0);
	}
	printf("ok 1 %s # SKIP undecided: neither nearly all blocks nor none\n", NAME);
	finish(4);
}
