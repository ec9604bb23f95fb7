/*
 * Two processes share a mutex. One process works with the mutex held, and then rests. The other
 * one repeatedly takes the mutex and releases it at once. On the holder's CPU there are rivals
 * with nice 0. At a low weight, the holder waits for its CPU with the mutex held, and the other
 * process sleeps. In the control, the holder has the weight of its rivals.
 */
static struct {
	pthread_mutex_t mutex;
	volatile uint64_t lost, done;
	volatile int refused;
} *seen;
static int cpu_waiter, cpu_holder;

static void clean_up(void)
{
	stop(0);
}

static void set_up(void)
{
	cpu_waiter = cpu_at(0);
	cpu_holder = cpu_at(1);
	/* Some C libraries have no function for the policy. */
	if (getpriority(PRIO_PROCESS, 0) || syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER)
		skip("run it at nice 0 and under the usual policy");
	seen = shared(sizeof(*seen));
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void holder(long held_up)
{
	struct sched_param none = { 0 };
	uint64_t began;

	pin(cpu_holder);
	if (held_up && (IDLE ? syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none)
			     : setpriority(PRIO_PROCESS, 0, NICE)))
		seen->refused = errno;
	for (;;) {
		pthread_mutex_lock(&seen->mutex);
		for (began = cpu_time(); cpu_time() - began < INSIDE_US * 1000ULL;)
			;
		pthread_mutex_unlock(&seen->mutex);
		rest_ns(REST_US * 1000ULL);
	}
}

static void rival(long unused)
{
	(void)unused;
	pin(cpu_holder);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void waiter(long unused)
{
	uint64_t end = now() + DURATION_MS * 1000000ULL;

	(void)unused;
	pin(cpu_waiter);
	while (now() < end) {
		uint64_t waited = now();

		pthread_mutex_lock(&seen->mutex);
		waited = now() - waited;
		pthread_mutex_unlock(&seen->mutex);
		/* The work of a section does not count as a loss. */
		if (waited > (INSIDE_US + 1000) * 1000ULL)
			seen->lost += waited - INSIDE_US * 1000ULL;
		rest_ns(EVERY_US * 1000ULL);
	}
	seen->done = 1;
	pause();
}

/* Time that the waiter lost beyond the work of a section, in milliseconds per second. */
static double trial(int with_cause)
{
	pthread_mutexattr_t shared_by_processes;
	uint64_t began, took;

	pthread_mutexattr_init(&shared_by_processes);
	pthread_mutexattr_setpshared(&shared_by_processes, PTHREAD_PROCESS_SHARED);
	if (INHERIT)
		pthread_mutexattr_setprotocol(&shared_by_processes, PTHREAD_PRIO_INHERIT);
	memset(seen, 0, sizeof(*seen));
	if (pthread_mutex_init(&seen->mutex, &shared_by_processes))
		broken("no such mutex here");
	start(holder, with_cause);
	for (int i = 0; i < RIVALS; i++)
		start(rival, 0);
	began = now();
	start(waiter, 0);
	for (; !seen->done; rest_ms(1)) {
		if (seen->refused)
			broken("the holder's weight: %s", strerror(seen->refused));
		if (now() - began > (DURATION_MS + 60000) * 1000000ULL)
			broken("the holder does not let the mutex go");
	}
	took = now() - began;
	stop(0);
	return seen->lost / 1e6 / (took / 1e9);
}
