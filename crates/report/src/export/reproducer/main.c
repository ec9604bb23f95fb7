
/* How likely at most k of n events happen where each has probability p. */
static double at_most(int k, int n, double p)
{
	double sum = 0, term = 1;

	for (int i = 0; i < n; i++)
		term *= 1 - p;
	for (int i = 0; i <= k; i++) {
		sum += term;
		term *= (double)(n - i) / (i + 1) * p / (1 - p);
	}
	return sum;
}

int main(void)
{
	int worse = 0, state = 4;
	double sum[2] = { 0, 0 };

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
	for (int block = 1; block <= LOOKS * BLOCKS && state == 4; block++) {
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
		if (block % BLOCKS)
			continue;
		printf("# on average: control %.4g %s, case %.4g %s\n", sum[0] / block, UNIT,
		       sum[1] / block, UNIT);
		/* Each answer is wrong in at most 5% of runs, over all looks together. */
		if (at_most(block - worse, block, 0.5) <= 0.05 / LOOKS)
			state = 1;
		else if (at_most(worse, block, 0.3) <= 0.05 / LOOKS)
			state = 0;
	}
	if (state == 4)
		printf("ok 1 %s # SKIP undecided: %d of %d blocks were worse, which shows neither more than "
		       "half nor less than 30%%\n", NAME, worse, LOOKS * BLOCKS);
	else
		printf("%sok 1 %s\n", state ? "not " : "", NAME);
	finish(state);
}
