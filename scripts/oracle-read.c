/*
 * Reads /proc/PID/task/TID/schedstat of every thread, again and again. Adds up by program name (the
 * name of the process's first thread) how long the threads ran, and how long they were runnable
 * without a CPU. It is independent of tailback: scripts/oracle compares tailback's figures with
 * these.
 *
 * Usage: oracle-read PERIOD_MS. It ends when its standard input ends. After each reading it prints
 *   T NANOSECONDS UNSEEN             CLOCK_MONOTONIC; threads that came and went unread
 *   P RAN DELAY ESCAPED ENDED NAME   sums since the first reading, if they changed
 * ESCAPED adds up, for each thread that ended, the time from the last reading with a change of its
 * sums to the reading that missed it. The thread can have lost at most this since that reading. The
 * kernel counts a wait when it ends.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 65536 /* a power of two */
#define PROGRAMS 4096
#define NAME 64
#define YOUNG_NS 2000000000LL

struct program {
	char name[NAME];
	uint64_t ran, delay, escaped, ended;
	int changed;
};
struct thread {
	int tid, program;
	uint64_t ran, delay, ran_counted, delay_counted;
	int64_t first, last, changed;
	struct thread *next;
};

static struct program programs[PROGRAMS];
static int known;
static struct thread *threads[THREADS];
static int64_t now;
static uint64_t arrived;
static int first_reading = 1;

static int64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int read_file(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	ssize_t got = read(file, text, size - 1);
	close(file);
	if (got <= 0)
		return -1;
	text[got] = 0;
	return 0;
}

static int program_of(int pid)
{
	char path[64], name[NAME];
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	if (read_file(path, name, sizeof name))
		return -1;
	name[strcspn(name, "\n")] = 0;
	for (int i = 0; i < known; i++)
		if (!strcmp(programs[i].name, name))
			return i;
	if (known == PROGRAMS)
		return -1;
	snprintf(programs[known].name, NAME, "%s", name);
	return known++;
}

static struct thread *thread_of(int tid)
{
	struct thread **at = &threads[tid & (THREADS - 1)];
	for (; *at; at = &(*at)->next)
		if ((*at)->tid == tid)
			return *at;
	*at = calloc(1, sizeof **at);
	if (!*at)
		exit(1);
	(*at)->tid = tid;
	(*at)->program = -1;
	return *at;
}

static void add(struct thread *thread, uint64_t ran, uint64_t delay)
{
	struct program *program = &programs[thread->program];
	if (ran < thread->ran || delay < thread->delay) {
		/* The number belongs to another thread by now. */
		program->ended++;
		program->escaped += now - thread->changed;
		thread->ran = thread->delay = 0;
		arrived++;
	}
	if (ran != thread->ran || delay != thread->delay) {
		program->changed = 1;
		thread->changed = now;
	}
	program->ran += ran - thread->ran;
	program->delay += delay - thread->delay;
	thread->ran_counted += ran - thread->ran;
	thread->delay_counted += delay - thread->delay;
	thread->ran = ran;
	thread->delay = delay;
}

/* Between fork and exec a process has its parent's name. What it did then counts as its own. */
static void rename_thread(struct thread *thread, int program)
{
	if (thread->program >= 0 && thread->program != program && now - thread->first < YOUNG_NS) {
		struct program *old = &programs[thread->program], *new = &programs[program];
		old->ran -= thread->ran_counted;
		old->delay -= thread->delay_counted;
		new->ran += thread->ran_counted;
		new->delay += thread->delay_counted;
		old->changed = new->changed = 1;
	}
	thread->program = program;
}

static void read_thread(int pid, int tid, int *program)
{
	char path[96], text[96];
	unsigned long long ran, delay;
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
	if (read_file(path, text, sizeof text) || sscanf(text, "%llu %llu", &ran, &delay) != 2)
		return;
	struct thread *thread = thread_of(tid);
	int fresh = !thread->first;
	/* A young process may still get its name. */
	if (fresh || now - thread->first < YOUNG_NS || now / 1000000000 != thread->last / 1000000000) {
		if (*program < 0)
			*program = program_of(pid);
		if (*program >= 0)
			rename_thread(thread, *program);
	}
	if (thread->program < 0)
		return;
	if (fresh) {
		thread->first = thread->changed = now;
		/* Time before the first reading is not counted. */
		if (first_reading)
			thread->ran = ran, thread->delay = delay;
		else
			arrived++;
	}
	add(thread, ran, delay);
	thread->last = now;
}

static void read_process(int pid)
{
	char path[64];
	int program = -1;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			read_thread(pid, atoi(entry->d_name), &program);
	closedir(folder);
}

/* Removes the threads that this reading did not find. */
static void drop_ended(void)
{
	for (int i = 0; i < THREADS; i++)
		for (struct thread **at = &threads[i]; *at;) {
			struct thread *thread = *at;
			if (thread->last == now) {
				at = &thread->next;
				continue;
			}
			if (thread->program >= 0) {
				struct program *program = &programs[thread->program];
				program->ended++;
				program->escaped += now - thread->changed;
				program->changed = 1;
			}
			*at = thread->next;
			free(thread);
		}
}

/* The number of threads that the kernel has made since boot. */
static uint64_t made(void)
{
	static char text[65536];
	if (read_file("/proc/stat", text, sizeof text))
		return 0;
	char *line = strstr(text, "\nprocesses ");
	return line ? strtoull(line + 11, NULL, 10) : 0;
}

static void print(uint64_t unseen)
{
	printf("T %lld %llu\n", (long long)now, (unsigned long long)unseen);
	for (int i = 0; i < known; i++) {
		struct program *one = &programs[i];
		if (!one->changed)
			continue;
		printf("P %llu %llu %llu %llu %s\n", (unsigned long long)one->ran, (unsigned long long)one->delay,
		       (unsigned long long)one->escaped, (unsigned long long)one->ended, one->name);
		one->changed = 0;
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int period = argc > 1 ? atoi(argv[1]) : 50;
	uint64_t before = made();
	struct pollfd input = {.fd = 0, .events = POLLIN};
	int64_t due = clock_ns();
	for (;;) {
		DIR *folder = opendir("/proc");
		if (!folder)
			return 1;
		uint64_t until = made();
		now = clock_ns();
		for (struct dirent *entry; (entry = readdir(folder));)
			if (isdigit((unsigned char)entry->d_name[0]))
				read_process(atoi(entry->d_name));
		closedir(folder);
		drop_ended();
		if (first_reading)
			before = until;
		print(until - before > arrived ? until - before - arrived : 0);
		first_reading = 0;
		/* At most a third of a CPU, whatever the number of threads. */
		due += clock_ns() - now > period * 333333LL ? 3 * (clock_ns() - now) : period * 1000000LL;
		int64_t left = due - clock_ns();
		if (left < 0)
			due -= left, left = 0;
		/* Ends when standard input ends. */
		if (poll(&input, 1, left / 1000000))
			return 0;
	}
}
