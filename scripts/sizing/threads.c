/* Threads that each wake once a second, evenly spread over the second, and run for a moment.
 * Usage: threads NUMBER */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long number;

static void *naps(void *at)
{
	struct timespec first = { 0, 1000000000 / number * (long)at }, second = { 1, 0 };

	nanosleep(&first, NULL);
	for (;;)
		nanosleep(&second, NULL);
}

int main(int words, char **word)
{
	pthread_attr_t small;
	pthread_t thread;
	long at;

	number = words == 2 ? atol(word[1]) : 0;
	if (number < 1)
		return 2;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (at = 1; at < number; at++) {
		if (pthread_create(&thread, &small, naps, (void *)at)) {
			perror("threads");
			return 1;
		}
	}
	naps(0);
}
