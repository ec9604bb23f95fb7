/*
 * Loads for scripts/blind that say by their own clock what they lost: each second a line of JSON
 * about all since the start, so that the last line counts, however the load ends.
 *
 *   loads beat CPU BUSY_MS PERIOD_MS [fifo] [pipe]
 *       computes so long in each period; real-time with fifo; woken by its own timer, or by another
 *       process through a pipe. Lost: late starts, and time in which its work stood still.
 *   loads spin CPU
 *       computes all the time. Lost: time in which it did not run.
 *   loads inversion [inherit] [fifo] [short]
 *       three threads: one at nice 19 holds a mutex for 5 ms of work at a time (short: 1 ms) on
 *       CPU 1, beside one that computes there; one on CPU 0 wants the mutex, with fifo as a
 *       real-time thread. Lost: its waits for the mutex, without the work of the holder in them.
 *   loads shared-holder FILE, loads shared-wanter FILE
 *       two processes with a mutex in shared memory; one holds it for 2 ms of work at a time. Lost:
 *       time in which the work stood still; waits for the mutex, without that work.
 *   loads maps THREADS
 *       threads of one process that map, write and unmap memory all the time. It says nothing.
 *   loads pool THREADS
 *       threads that sleep until there is work, a little of it each millisecond. It says nothing.
 *   loads server PORT WORK_MS, loads client PORT
 *       a server that works so long for each request of a client, on 127.0.0.1. Lost: time in which
 *       the work stood still; the client's waits for answers, without that work.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL

static const char *name;
static int64_t began, told, lost, worst, times;

static int64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static int64_t wall(void)
{
	return now(CLOCK_MONOTONIC);
}

static void check(int right, const char *what)
{
	if (right)
		return;
	perror(what);
	exit(1);
}

static void sleep_until(int64_t when)
{
	struct timespec t = {when / (1000 * MS), when % (1000 * MS)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* Uses so much CPU time, tells there how much it has used, and says how long it stood still
 * meanwhile. */
static int64_t work_told(int64_t ns, volatile int64_t *done)
{
	int64_t start = wall(), from = now(CLOCK_THREAD_CPUTIME_ID), before = *done, used;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		used = now(CLOCK_THREAD_CPUTIME_ID) - from;
		*done = before + used;
	} while (used < ns);
	return wall() - start - used;
}

static int64_t work(int64_t ns)
{
	int64_t done = 0;
	return work_told(ns, &done);
}

static void lose(int64_t ns)
{
	int64_t at = wall();
	if (ns < 0)
		ns = 0;
	lost += ns;
	worst = ns > worst ? ns : worst;
	times++;
	if (at - told < 1000 * MS)
		return;
	told = at;
	printf("{\"load\":\"%s\",\"seconds\":%.1f,\"lost_ms_per_s\":%.1f,\"worst_ms\":%.1f,\"times\":%lld}\n", name,
	       (at - began) / 1e9, lost / 1e6 / ((at - began) / 1e9), worst / 1e6, (long long)times);
	fflush(stdout);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

static void real_time(void)
{
	struct sched_param param = {.sched_priority = 10};
	check(!sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
}

/* Another process that writes a byte in each period; it ends with this one. */
static int ticker(int64_t period, int cpu)
{
	int ends[2];
	check(!pipe(ends), "pipe");
	pid_t child = fork();
	check(child >= 0, "fork");
	if (child) {
		close(ends[1]);
		return ends[0];
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ticker");
	pin(cpu);
	for (int64_t due = wall();; due += period) {
		sleep_until(due);
		if (write(ends[1], &due, sizeof due) != sizeof due)
			exit(1);
	}
}

static void beat(int cpu, int64_t busy, int64_t period, int fifo, int by_pipe)
{
	/* Who wakes it runs elsewhere where there is another CPU. */
	int from = by_pipe ? ticker(period, sysconf(_SC_NPROCESSORS_ONLN) > 1 ? !cpu : cpu) : -1;
	pin(cpu);
	if (fifo)
		real_time();
	for (int64_t due = wall();; due += period) {
		if (by_pipe)
			check(read(from, &due, sizeof due) == sizeof due, "read");
		else
			sleep_until(due);
		int64_t late = wall() - due;
		lose(late + work(busy));
	}
}

static void spin(int cpu)
{
	pin(cpu);
	for (;;)
		lose(work(10 * MS));
}

static pthread_mutex_t *mutex;
/* CPU time that the holder has used with the mutex. */
static int64_t done_here;
static volatile int64_t *held_work = &done_here;

static void make_mutex(int inherit, int shared)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	if (inherit)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (shared)
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	check(!pthread_mutex_init(mutex, &attributes), "pthread_mutex_init");
}

/* Takes the mutex for so much work at a time, and leaves it as long as a sleep takes. */
static void hold(int64_t ns, int tell)
{
	for (;;) {
		pthread_mutex_lock(mutex);
		int64_t still = work_told(ns, held_work);
		pthread_mutex_unlock(mutex);
		if (tell)
			lose(still);
		sleep_until(wall() + MS);
	}
}

static void want(int64_t every)
{
	for (;;) {
		int64_t start = wall(), before = *held_work;
		pthread_mutex_lock(mutex);
		int64_t waited = wall() - start, worked = *held_work - before;
		pthread_mutex_unlock(mutex);
		lose(waited - worked);
		sleep_until(wall() + every);
	}
}

static int64_t held_for = 5 * MS;

static void *holder(void *none)
{
	pthread_setname_np(pthread_self(), "holder");
	pin(1);
	check(!setpriority(PRIO_PROCESS, gettid(), 19), "setpriority");
	hold(held_for, 0);
	return none;
}

static void *neighbour(void *none)
{
	pthread_setname_np(pthread_self(), "neighbour");
	pin(1);
	for (;;)
		work(MS);
	return none;
}

static void inversion(int inherit, int fifo)
{
	static pthread_mutex_t one;
	pthread_t thread;
	mutex = &one;
	make_mutex(inherit, 0);
	check(!pthread_create(&thread, NULL, holder, NULL), "pthread_create");
	check(!pthread_create(&thread, NULL, neighbour, NULL), "pthread_create");
	pin(0);
	if (fifo)
		real_time();
	want(10 * MS);
}

struct shared {
	pthread_mutex_t mutex;
	volatile int64_t held_work;
	volatile int ready;
};

static struct shared *shared_memory(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);
	check(file >= 0 && !ftruncate(file, sizeof(struct shared)), path);
	void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	check(at != MAP_FAILED, "mmap");
	mutex = &((struct shared *)at)->mutex;
	held_work = &((struct shared *)at)->held_work;
	return at;
}

static void shared_holder(const char *path)
{
	struct shared *memory = shared_memory(path);
	make_mutex(0, 1);
	memory->ready = 1;
	hold(2 * MS, 1);
}

static void shared_wanter(const char *path)
{
	struct shared *memory = shared_memory(path);
	while (!memory->ready)
		sleep_until(wall() + MS);
	want(2 * MS);
}

static int local_socket(int port, struct sockaddr_in *address)
{
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int one = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	check(one >= 0, "socket");
	setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	return one;
}

static void server(int port, int64_t ns)
{
	struct sockaddr_in address;
	int listener = local_socket(port, &address);
	char byte;
	check(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 1), "bind");
	for (;;) {
		int client = accept(listener, NULL, NULL);
		while (client >= 0 && read(client, &byte, 1) == 1) {
			lose(work(ns));
			if (write(client, &ns, sizeof ns) != sizeof ns)
				break;
		}
		close(client);
	}
}

static void client(int port)
{
	struct sockaddr_in address;
	int to = local_socket(port, &address);
	char byte = 'x';
	/* The server may still be starting. */
	while (connect(to, (struct sockaddr *)&address, sizeof address))
		sleep_until(wall() + 50 * MS);
	began = told = wall();
	for (;;) {
		int64_t start = wall(), worked;
		check(write(to, &byte, 1) == 1 && read(to, &worked, sizeof worked) == sizeof worked, "the server");
		lose(wall() - start - worked);
		sleep_until(wall() + 5 * MS);
	}
}

static void *map_again(void *none)
{
	const size_t size = 4 << 20;

	for (;;) {
		char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(at != MAP_FAILED, "mmap");
		for (size_t i = 0; i < size; i += 4096)
			at[i] = 1;
		munmap(at, size);
	}
	return none;
}

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static int waiting_work;

static void *works(void *none)
{
	for (;;) {
		pthread_mutex_lock(&pool_lock);
		while (!waiting_work)
			pthread_cond_wait(&pool_work, &pool_lock);
		waiting_work--;
		pthread_mutex_unlock(&pool_lock);
		for (volatile int i = 0; i < 200000; i++)
			;
	}
	return none;
}

static void *gives_work(void *none)
{
	for (;;) {
		sleep_until(wall() + MS);
		pthread_mutex_lock(&pool_lock);
		waiting_work++;
		pthread_cond_signal(&pool_work);
		pthread_mutex_unlock(&pool_lock);
	}
	return none;
}

static void run_threads(int count, void *(*rest)(void *), void *(*first)(void *))
{
	for (int i = 1; i < count; i++) {
		pthread_t thread;

		check(!pthread_create(&thread, 0, rest, 0), "pthread_create");
	}
	first(0);
}

int main(int count, char **words)
{
	int fifo = 0, by_pipe = 0, inherit = 0;
	for (int i = 2; i < count; i++) {
		fifo |= !strcmp(words[i], "fifo");
		by_pipe |= !strcmp(words[i], "pipe");
		inherit |= !strcmp(words[i], "inherit");
		if (!strcmp(words[i], "short"))
			held_for = MS;
	}
	name = count > 1 ? words[1] : "";
	began = told = wall();
	if (!strcmp(name, "beat") && count > 4)
		beat(atoi(words[2]), atoi(words[3]) * MS, atoi(words[4]) * MS, fifo, by_pipe);
	if (!strcmp(name, "spin") && count > 2)
		spin(atoi(words[2]));
	if (!strcmp(name, "inversion"))
		inversion(inherit, fifo);
	if (!strcmp(name, "shared-holder") && count > 2)
		shared_holder(words[2]);
	if (!strcmp(name, "shared-wanter") && count > 2)
		shared_wanter(words[2]);
	if (!strcmp(name, "maps") && count > 2)
		run_threads(atoi(words[2]), map_again, map_again);
	if (!strcmp(name, "pool") && count > 2)
		run_threads(atoi(words[2]) + 1, works, gives_work);
	if (!strcmp(name, "server") && count > 3)
		server(atoi(words[2]), atoi(words[3]) * MS);
	if (!strcmp(name, "client") && count > 2)
		client(atoi(words[2]));
	fprintf(stderr, "loads: see the comment at the top of loads.c\n");
	return 2;
}
