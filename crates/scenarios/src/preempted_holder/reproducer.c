/*
 * Threads share one lock in user space, on fewer CPUs than threads. If the holder of the lock is
 * preempted, the spinning threads use up the CPU time until the holder runs again. In the control,
 * the same threads share a lock that sleeps.
 */
static struct {
	volatile uint64_t rounds, cpu_ns, stop;
	volatile int spin;
} *seen;
static pthread_mutex_t sleeping = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
static double steps_a_us;
static int spins;

static void clean_up(void)
{
	stop(0);
}

/* Each step depends on the previous one, so a neighbour on the same core hardly slows it. */
static void steps(uint64_t left)
{
	uint64_t x = 1;

	for (; left; left--) {
		x = x * 6364136223846793005ULL + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

static void work(double us)
{
	steps(us * steps_a_us);
}

static void set_up(void)
{
	cpu_at(CPUS - 1);
	seen = shared(sizeof(*seen));
	/* The fastest of many runs, because anything may interrupt the others. */
	for (int i = 0; i < 200; i++) {
		uint64_t began = now();
		double speed;

		steps(100000);
		speed = 100000 * 1000.0 / (now() - began);
		if (speed > steps_a_us)
			steps_a_us = speed;
	}
}

static void *rounds(void *unused)
{
	uint64_t done = 0;

	for (; !seen->stop; done++) {
		if (spins)
			while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
				while (held && !seen->stop)
					__asm__ volatile("" ::: "memory");
		else
			pthread_mutex_lock(&sleeping);
		work(INSIDE_US);
		if (spins)
			__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
		else
			pthread_mutex_unlock(&sleeping);
		work(OUTSIDE_US);
	}
	__atomic_fetch_add(&seen->rounds, done, __ATOMIC_RELAXED);
	return unused;
}

static void process(long spin)
{
	pthread_t threads[THREADS];
	struct timespec used;
	cpu_set_t set;

	spins = spin;
	CPU_ZERO(&set);
	for (int i = 0; i < CPUS; i++)
		CPU_SET(cpu_at(i), &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, rounds, NULL))
			_exit(1);
	rest_ms(DURATION_MS);
	seen->stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	seen->cpu_ns = used.tv_sec * 1000000000ULL + used.tv_nsec;
}

/* The part of their CPU time that the threads did not use for work, in percent. */
static double trial(int with_cause)
{
	uint64_t end = now() + (DURATION_MS + 60000) * 1000000ULL;
	double lost;

	seen->rounds = seen->cpu_ns = seen->stop = 0;
	start(process, with_cause);
	while (!seen->cpu_ns && now() < end)
		rest_ms(1);
	stop(0);
	if (!seen->cpu_ns)
		broken("the threads do not come to their end");
	lost = 100 - 100.0 * seen->rounds * (INSIDE_US + OUTSIDE_US) * 1000 / seen->cpu_ns;
	return lost > 0 ? lost : 0;
}
