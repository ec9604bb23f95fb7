#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void clean_up(void);

/* Ends the program; as init of a guest it powers the machine off. */
static void finish(int code)
{
	fflush(stdout);
	clean_up();
	if (getpid() != 1)
		exit(code);
	printf("exit code %d\n", code);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void interrupted(int number)
{
	clean_up();
	_exit(128 + number);
}

/* What is missing, or what broke: no test was made. At 128 a git bisect run stops. */
#define give_up(result, code, ...) \
	do { \
		printf("%s", result); \
		printf(__VA_ARGS__); \
		putchar('\n'); \
		finish(code); \
	} while (0)
#define skip(...) give_up("ok 1 " NAME " # SKIP ", 4, __VA_ARGS__)
#define broken(...) give_up("not ok 1 " NAME " # ERROR ", 128, __VA_ARGS__)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void rest_ns(uint64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}
#define rest_ms(ms) rest_ns((uint64_t)(ms) * 1000000)

/* A number that looks like chance (Marsaglia's xorshift). */
static uint64_t chance(void)
{
	static uint64_t x = SEED;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* The CPU of this place among those that this process may use. */
static __attribute__((unused)) int cpu_at(int place)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		broken("sched_getaffinity: %s", strerror(errno));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && place-- == 0)
			return cpu;
	skip("%d CPUs are needed, and this process may use %d", CPUS, CPU_COUNT(&set));
	return -1;
}

static __attribute__((unused)) void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Memory that this process and its children share. */
static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		broken("mmap: %s", strerror(errno));
	return p;
}

static pid_t children[256];
static int started;

/* Starts a child that dies with this process. */
static pid_t start(void (*run)(long), long what)
{
	pid_t self = getpid(), pid = -1;
	sigset_t all, usual;

	/* Without this, a signal just after the fork would not end the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &usual);
	if (started < 256)
		pid = fork();
	if (pid > 0)
		children[started++] = pid;
	if (pid == 0) {
		signal(SIGHUP, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
	}
	sigprocmask(SIG_SETMASK, &usual, NULL);
	if (pid < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self)
			run(what);
		_exit(0);
	}
	return pid;
}

/* Ends the children that were started from this one on. */
static void stop(int first)
{
	for (int i = first; i < started; i++)
		kill(children[i], SIGKILL);
	while (started > first)
		waitpid(children[--started], NULL, 0);
}

