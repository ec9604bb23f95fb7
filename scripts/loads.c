/*
 * Loads for scripts/blind and scripts/dose that measure by their own clock what they lost. A load
 * prints a line of JSON about all since its start, at most ten times a second. The last line
 * counts, however the load ends. Times may be fractions.
 *
 *   loads beat CPU BUSY_MS PERIOD_MS [fifo] [pipe]
 *       computes for BUSY_MS in each period; fifo makes it a real-time thread. Its own timer wakes
 *       it, or with pipe another process. Lost: late starts, and time in which its work stood
 *       still.
 *   loads spin CPU
 *       computes all the time. Lost: time in which it did not run.
 *   loads inversion [inherit] [fifo] [short] [usual]
 *       three threads. One at nice 19 on CPU 1 holds a mutex for 5 ms of work at a time (short: 1
 *       ms). A second one computes on CPU 1. A third one on CPU 0 wants the mutex, with fifo as a
 *       real-time thread. With usual, the first one is at nice 0, and five compute on CPU 1. Lost:
 *       its waits for the mutex, minus the holder's work during them.
 *   loads shared-holder FILE [WORK_MS PERIOD_MS], loads shared-wanter FILE
 *       two processes with a mutex in shared memory. The holder holds it for 2 ms of work at a
 *       time, or for WORK_MS once in each period. Lost: holder: time in which its work stood
 *       still; wanter: waits for the mutex, minus that work.
 *   loads maps THREADS
 *       threads of one process that map, write and unmap memory all the time. It prints nothing.
 *   loads protects MB PERIOD_MS
 *       one thread changes the protection of MB MiB of memory in each period. Another thread maps
 *       and unmaps a page all the time. Lost: the time of the latter's calls beyond their usual
 *       time.
 *   loads mapped MB, loads reads PID PERIOD_MS
 *       mapped has MB MiB of memory, and maps and unmaps a page all the time. reads reads the smaps
 *       of process PID in each period. Lost: mapped: as above; reads: nothing.
 *   loads holders THREADS [BUSY_MS PERIOD_MS]
 *       threads that share their own spinlock: 20 us with it, 60 us without it, all the time or for
 *       BUSY_MS in each period. Lost: CPU time in which they waited actively.
 *   loads reads-file FILE MB PERIOD_MS
 *       reads MB MiB of a file in each period, and starts again at its end. Lost: time of the
 *       reads.
 *   loads touches FILE MB [once], loads hoards MB
 *       touches reads pages of a mapping of MB MiB of a file (-: of memory) at random, or with
 *       once each page in turn. hoards holds MB MiB of memory. Lost: touches: reads that took
 *       longer than 50 us; hoards: nothing.
 *   loads fsyncs FILE
 *       appends 4 KiB to a file and calls fsync, 10 ms after the last call. Lost: calls that took
 *       longer than 50 ms.
 *   loads rewrites FILE LIMITS DISK CAP
 *       makes a file of 1 MiB with a hole before its last block, and sets wbps=CAP for DISK (such
 *       as 7:0) in LIMITS, the io.max of its group. It writes the blocks again, starts their
 *       write-back, writes the last one once more and one into the hole, calls fsync, removes the
 *       cap, and begins again. It prints nothing.
 *   loads pool THREADS
 *       threads that sleep until there is work, a little of it each millisecond. It prints nothing.
 *   loads server PORT WORK_MS [pool], loads client PORT [WORK_MS]
 *       a server on 127.0.0.1 that works for WORK_MS for each request, or with pool has another
 *       thread answer at once. The client asks 5 ms after each answer, or works for WORK_MS then
 *       and asks. Lost: server, and client with WORK_MS: time in which its work stood still; client
 *       without: its waits for answers, minus the server's work.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
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

/* Uses `ns` of CPU time, and adds the CPU time used so far to `done`. Returns how long it stood
 * still meanwhile. */
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
	if (at - told < 100 * MS)
		return;
	told = at;
	printf("{\"load\":\"%s\",\"seconds\":%.1f,\"lost_ms_per_s\":%.1f,\"worst_ms\":%.1f,\"times\":%lld,"
	       "\"at_ns\":%lld,\"lost_ns\":%lld}\n",
	       name, (at - began) / 1e9, lost / 1e6 / ((at - began) / 1e9), worst / 1e6, (long long)times, (long long)at,
	       (long long)lost);
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

/* Starts another process that writes to a pipe in each period. It ends with this process. */
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
	/* The waking process runs on another CPU, if there is one. */
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
/* CPU time that the holder has used while it had the mutex. */
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

/* Repeats: takes the mutex for `ns` of work, then sleeps for a millisecond without it. */
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
static int nice_of_holder = 19, neighbours = 1;

static void *holder(void *none)
{
	pthread_setname_np(pthread_self(), "holder");
	pin(1);
	check(!setpriority(PRIO_PROCESS, gettid(), nice_of_holder), "setpriority");
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
	for (int i = 0; i < neighbours; i++)
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

static void hold_in_each(int64_t ns, int64_t period)
{
	for (int64_t due = wall();; due += period) {
		sleep_until(due);
		pthread_mutex_lock(mutex);
		int64_t still = work_told(ns, held_work);
		pthread_mutex_unlock(mutex);
		lose(still);
	}
}

static void shared_holder(const char *path, int64_t ns, int64_t period)
{
	struct shared *memory = shared_memory(path);
	make_mutex(0, 1);
	memory->ready = 1;
	if (period)
		hold_in_each(ns, period);
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

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static int waiting_work, asking;

static void add_work(void)
{
	pthread_mutex_lock(&pool_lock);
	waiting_work++;
	pthread_cond_signal(&pool_work);
	pthread_mutex_unlock(&pool_lock);
}

static void take_work(void)
{
	pthread_mutex_lock(&pool_lock);
	while (!waiting_work)
		pthread_cond_wait(&pool_work, &pool_lock);
	waiting_work--;
	pthread_mutex_unlock(&pool_lock);
}

static void *answers(void *none)
{
	int64_t ns = 0;
	for (;;) {
		take_work();
		if (write(asking, &ns, sizeof ns) != sizeof ns)
			return none;
	}
}

static void server(int port, int64_t ns, int pool)
{
	pthread_t thread;
	for (int i = 0; pool && i < 4; i++)
		check(!pthread_create(&thread, 0, answers, 0), "pthread_create");
	struct sockaddr_in address;
	int listener = local_socket(port, &address);
	char byte;
	check(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 1), "bind");
	for (;;) {
		int client = accept(listener, NULL, NULL);
		while (client >= 0 && read(client, &byte, 1) == 1) {
			asking = client;
			if (pool)
				add_work();
			else
				lose(work(ns));
			if (!pool && write(client, &ns, sizeof ns) != sizeof ns)
				break;
		}
		close(client);
	}
}

static void client(int port, int64_t ns)
{
	struct sockaddr_in address;
	int to = local_socket(port, &address);
	char byte = 'x';
	/* The server may not listen yet. */
	while (connect(to, (struct sockaddr *)&address, sizeof address))
		sleep_until(wall() + 50 * MS);
	began = told = wall();
	for (;;) {
		int64_t worked, still = ns ? work(ns) : 0, start = wall();
		check(write(to, &byte, 1) == 1 && read(to, &worked, sizeof worked) == sizeof worked, "the server");
		lose(ns ? still : wall() - start - worked);
		sleep_until(wall() + 5 * MS);
	}
}

static char *touched(size_t size)
{
	char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(at != MAP_FAILED, "mmap");
	/* One page for each 4 KiB, so that a walk through this memory takes long. */
	madvise(at, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		at[i] = 1;
	return at;
}

/* Without contention these two calls take some microseconds. A call that takes much longer waited
 * for a lock of another thread: a thread that loses its CPU in the calls gets it back sooner. */
static void *map_a_page(void *none)
{
	const int64_t usual = 5000, waited = MS / 2;

	for (;;) {
		int64_t start = wall();
		void *at = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(at != MAP_FAILED && !munmap(at, 4096), "mmap");
		int64_t took = wall() - start;
		lose(took > waited ? took - usual : 0);
		sleep_until(wall() + 50000);
	}
	return none;
}

static void protects(size_t size, int64_t period)
{
	char *at = touched(size);
	pthread_t thread;
	check(!pthread_create(&thread, 0, map_a_page, 0), "pthread_create");
	int64_t due = wall();
	for (int readable = 0;; readable = !readable, due += period) {
		sleep_until(due);
		check(!mprotect(at, size, readable ? PROT_READ | PROT_WRITE : PROT_READ), "mprotect");
	}
}

static void mapped(size_t size)
{
	touched(size);
	map_a_page(0);
}

static void reads(const char *pid, int64_t period)
{
	static char path[64], text[1 << 20];
	snprintf(path, sizeof path, "/proc/%s/smaps", pid);
	for (int64_t due = wall();; due += period) {
		sleep_until(due);
		int file = open(path, O_RDONLY);
		check(file >= 0, path);
		while (read(file, text, sizeof text) > 0)
			;
		close(file);
	}
}

static void reads_file(const char *path, size_t size, int64_t period)
{
	static char text[1 << 16];
	int file = open(path, O_RDONLY);
	check(file >= 0, path);
	/* Page by page, so that the kernel also frees the memory page by page. */
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	for (int64_t due = wall();; due += period) {
		sleep_until(due);
		int64_t start = wall();
		for (size_t left = size; left;) {
			ssize_t got = read(file, text, left < sizeof text ? left : sizeof text);
			check(got >= 0, path);
			left -= got;
			if (!got)
				lseek(file, 0, SEEK_SET);
		}
		lose(wall() - start);
	}
}

static void touches(const char *path, size_t size, int once)
{
	int file = strcmp(path, "-") ? open(path, O_RDONLY) : -1;
	volatile char *map = file < 0 ? touched(size) : mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	check(map != MAP_FAILED, "mmap");
	madvise((void *)map, size, MADV_RANDOM);
	for (size_t at = 0;; at = once ? (at + 4096) % size : rand() % (size / 4096) * 4096) {
		int64_t start = wall();
		(void)map[at];
		int64_t took = wall() - start;
		if (took > 50000)
			lose(took);
	}
}

static void hoards(size_t size)
{
	touched(size);
	for (;;)
		pause();
}

#define BLOCK 4096
static const char block[BLOCK];

static void fsyncs(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(file >= 0, path);
	for (;;) {
		int64_t start = wall();
		check(write(file, block, BLOCK) == BLOCK && !fsync(file), path);
		int64_t took = wall() - start;
		lose(took > 50 * MS ? took : 0);
		sleep_until(wall() + 10 * MS);
	}
}

static void write_block(int file, int number)
{
	check(pwrite(file, block, BLOCK, (off_t)number * BLOCK) == BLOCK, "pwrite");
}

/* Writes this many blocks, but not the one before the last. */
static void write_around_hole(int file, int count)
{
	for (int i = 0; i < count; i++)
		if (i != count - 2)
			write_block(file, i);
}

static void limit_writes(int limits, const char *disk, const char *cap)
{
	char text[64];
	int length = snprintf(text, sizeof text, "%s wbps=%s", disk, cap);
	check(length < (int)sizeof text && write(limits, text, length) == length, "io.max");
}

static void rewrites(const char *path, const char *limits, const char *disk, const char *cap)
{
	const int count = 256;
	int group = open(limits, O_WRONLY);
	check(group >= 0, limits);
	for (;;) {
		int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		check(file >= 0, path);
		write_around_hole(file, count);
		check(!fsync(file), path);
		limit_writes(group, disk, cap);
		write_around_hole(file, count);
		check(!sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE), "sync_file_range");
		write_block(file, count - 1);
		write_block(file, count - 2);
		check(!fsync(file), path);
		limit_writes(group, disk, "max");
		close(file);
	}
}

static atomic_int spinlock;
static atomic_llong spun;

/* The finding names this function. */
static void __attribute__((noinline)) take(void)
{
	while (atomic_exchange(&spinlock, 1))
		while (atomic_load(&spinlock))
			__builtin_ia32_pause();
}

static void take_and_count(void)
{
	if (!atomic_exchange(&spinlock, 1))
		return;
	int64_t from = now(CLOCK_THREAD_CPUTIME_ID);
	take();
	spun += now(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void __attribute__((noinline)) compute(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

static int64_t holders_busy, holders_period;

static void *holds(void *tells)
{
	for (int64_t due = wall(), said = 0;; due += holders_period) {
		sleep_until(due);
		do {
			take_and_count();
			compute(20000);
			atomic_store(&spinlock, 0);
			compute(60000);
		} while (wall() < due + holders_busy || !holders_period);
		if (tells) {
			int64_t all = spun;
			lose(all - said);
			said = all;
		}
	}
	return 0;
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

static void *works(void *none)
{
	for (;;) {
		take_work();
		for (volatile int i = 0; i < 200000; i++)
			;
	}
	return none;
}

static void *gives_work(void *none)
{
	for (;;) {
		sleep_until(wall() + MS);
		add_work();
	}
	return none;
}

static void holders(int count, int64_t busy, int64_t period)
{
	holders_busy = busy;
	holders_period = period;
	for (int i = 1; i < count; i++) {
		pthread_t thread;

		check(!pthread_create(&thread, 0, holds, 0), "pthread_create");
	}
	holds(&spun);
}

static void run_threads(int count, void *(*rest)(void *), void *(*first)(void *))
{
	for (int i = 1; i < count; i++) {
		pthread_t thread;

		check(!pthread_create(&thread, 0, rest, 0), "pthread_create");
	}
	first(0);
}

static int64_t ms_of(const char *word)
{
	return atof(word) * MS;
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
		if (!strcmp(words[i], "usual")) {
			nice_of_holder = 0;
			neighbours = 5;
		}
	}
	name = count > 1 ? words[1] : "";
	began = told = wall();
	if (!strcmp(name, "beat") && count > 4)
		beat(atoi(words[2]), ms_of(words[3]), ms_of(words[4]), fifo, by_pipe);
	if (!strcmp(name, "spin") && count > 2)
		spin(atoi(words[2]));
	if (!strcmp(name, "inversion"))
		inversion(inherit, fifo);
	if (!strcmp(name, "shared-holder") && count > 2)
		shared_holder(words[2], count > 4 ? ms_of(words[3]) : 0, count > 4 ? ms_of(words[4]) : 0);
	if (!strcmp(name, "shared-wanter") && count > 2)
		shared_wanter(words[2]);
	if (!strcmp(name, "maps") && count > 2)
		run_threads(atoi(words[2]), map_again, map_again);
	if (!strcmp(name, "pool") && count > 2)
		run_threads(atoi(words[2]) + 1, works, gives_work);
	if (!strcmp(name, "server") && count > 3)
		server(atoi(words[2]), ms_of(words[3]), count > 4);
	if (!strcmp(name, "client") && count > 2)
		client(atoi(words[2]), count > 3 ? ms_of(words[3]) : 0);
	if (!strcmp(name, "protects") && count > 3)
		protects(atof(words[2]) * (1 << 20), ms_of(words[3]));
	if (!strcmp(name, "mapped") && count > 2)
		mapped(atof(words[2]) * (1 << 20));
	if (!strcmp(name, "reads") && count > 3)
		reads(words[2], ms_of(words[3]));
	if (!strcmp(name, "reads-file") && count > 4)
		reads_file(words[2], atof(words[3]) * (1 << 20), ms_of(words[4]));
	if (!strcmp(name, "touches") && count > 3)
		touches(words[2], atof(words[3]) * (1 << 20), count > 4);
	if (!strcmp(name, "hoards") && count > 2)
		hoards(atof(words[2]) * (1 << 20));
	if (!strcmp(name, "fsyncs") && count > 2)
		fsyncs(words[2]);
	if (!strcmp(name, "rewrites") && count > 5)
		rewrites(words[2], words[3], words[4], words[5]);
	if (!strcmp(name, "holders") && count > 2)
		holders(atoi(words[2]), count > 4 ? ms_of(words[3]) : 0, count > 4 ? ms_of(words[4]) : 0);
	fprintf(stderr, "loads: see the comment at the top of loads.c\n");
	return 2;
}
