/* Native functions that hold a scheduler: one sleeps, one computes. */
#include <erl_nif.h>
#include <time.h>
#include <unistd.h>

static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static ERL_NIF_TERM nap(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	int us;
	if (argc != 1 || !enif_get_int(env, argv[0], &us))
		return enif_make_badarg(env);
	usleep(us);
	return argv[0];
}

static ERL_NIF_TERM burn(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	int us;
	if (argc != 1 || !enif_get_int(env, argv[0], &us))
		return enif_make_badarg(env);
	for (long end = now_us() + us; now_us() < end;)
		for (volatile int i = 0; i < 10000; i++)
			;
	return argv[0];
}

static ErlNifFunc all[] = {{"nap", 1, nap, 0}, {"burn", 1, burn, 0}};
ERL_NIF_INIT(nap, all, NULL, NULL, NULL, NULL)
