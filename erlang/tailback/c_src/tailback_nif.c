/*
 * Native work that is good or bad for the schedulers of the Erlang VM.
 *
 * busy uses CPU time, sleep lets wall-clock time pass; both take microseconds, from 0 to ten
 * minutes. The plain forms keep their scheduler for the whole time and charge no reductions, like a
 * badly behaved NIF. The charging forms keep it as long, and then report that a timeslice is used
 * up. The dirty forms run the plain code on a dirty CPU scheduler. The yielding forms give the
 * scheduler back after at most SLICE_US, and charge each slice, the last one too.
 */

#include <errno.h>
#include <time.h>

#include <erl_nif.h>

/* Ten minutes. A call cannot be interrupted, so this limits what a typing error can block. */
#define MAX_US 600000000ULL
#define SLICE_US 1000ULL
#define NS_PER_US 1000ULL
#define NS_PER_S 1000000000ULL

typedef void (*spend_fn)(ErlNifUInt64 us);

static ErlNifUInt64 clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (ErlNifUInt64)now.tv_sec * NS_PER_S + (ErlNifUInt64)now.tv_nsec;
}

/* CPU time, not wall time: a thread does no work while it is off its CPU. */
static void burn(ErlNifUInt64 us)
{
    ErlNifUInt64 end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * NS_PER_US;
    volatile unsigned int spun = 0;

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 1000; i++)
            spun++;
    (void)spun;
}

static void rest(ErlNifUInt64 us)
{
    struct timespec left = {
        .tv_sec = (time_t)(us * NS_PER_US / NS_PER_S),
        .tv_nsec = (long)(us * NS_PER_US % NS_PER_S),
    };

    while (nanosleep(&left, &left) == -1 && errno == EINTR)
        ;
}

static int read_us(ErlNifEnv *env, ERL_NIF_TERM term, ErlNifUInt64 *us)
{
    return enif_get_uint64(env, term, us) && *us <= MAX_US;
}

static ERL_NIF_TERM spend_at_once(ErlNifEnv *env, ERL_NIF_TERM arg, spend_fn spend)
{
    ErlNifUInt64 us;

    if (!read_us(env, arg, &us))
        return enif_make_badarg(env);
    if (us > 0)
        spend(us);
    return enif_make_atom(env, "ok");
}

/* Keeps the scheduler as long as the plain form does, and is then charged the most that a call can
 * be charged: the rest of the timeslice. */
static ERL_NIF_TERM spend_and_charge(ErlNifEnv *env, ERL_NIF_TERM arg, spend_fn spend)
{
    ERL_NIF_TERM done = spend_at_once(env, arg, spend);

    enif_consume_timeslice(env, 100);
    return done;
}

static ERL_NIF_TERM busy_charge(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_and_charge(env, argv[0], burn);
}

static ERL_NIF_TERM sleep_charge(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_and_charge(env, argv[0], rest);
}

/* Does one slice and returns the time that it took. A slice that overran counts in full. */
static ErlNifUInt64 spend_slice(ErlNifUInt64 us, spend_fn spend, clockid_t clock)
{
    ErlNifUInt64 slice = us < SLICE_US ? us : SLICE_US;
    ErlNifUInt64 before = clock_ns(clock);
    ErlNifUInt64 took;

    spend(slice);
    took = (clock_ns(clock) - before) / NS_PER_US;
    return took < slice ? slice : took;
}

/* Charges the part of a timeslice that a slice took. The least that can be charged is 1 percent. */
static void charge_slice(ErlNifEnv *env, ErlNifUInt64 took)
{
    ErlNifUInt64 percent = took < SLICE_US ? took * 100 / SLICE_US : 100;

    enif_consume_timeslice(env, percent > 0 ? (int)percent : 1);
}

static ERL_NIF_TERM busy(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_at_once(env, argv[0], burn);
}

static ERL_NIF_TERM sleep_for(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_at_once(env, argv[0], rest);
}

/* A NIF of one argument. */
typedef ERL_NIF_TERM nif(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* Spends one slice of the time, and schedules the NIF again for the rest. Short calls are charged
 * too: otherwise many of them in a row would keep their scheduler like one long call. */
static ERL_NIF_TERM spend_in_slices(ErlNifEnv *env, ERL_NIF_TERM time, spend_fn spend,
                                    clockid_t clock, const char *name, nif *again)
{
    ErlNifUInt64 us;
    ErlNifUInt64 took;
    ERL_NIF_TERM left;

    if (!read_us(env, time, &us))
        return enif_make_badarg(env);
    took = us > 0 ? spend_slice(us, spend, clock) : 0;
    charge_slice(env, took);
    if (took >= us)
        return enif_make_atom(env, "ok");
    left = enif_make_uint64(env, us - took);
    return enif_schedule_nif(env, name, 0, again, 1, &left);
}

static ERL_NIF_TERM busy_yield(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_in_slices(env, argv[0], burn, CLOCK_THREAD_CPUTIME_ID, "busy_yield", busy_yield);
}

static ERL_NIF_TERM sleep_yield(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return spend_in_slices(env, argv[0], rest, CLOCK_MONOTONIC, "sleep_yield", sleep_yield);
}

static ERL_NIF_TERM loaded(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    (void)argv;
    return enif_make_atom(env, "true");
}

/* There is no state, so these three functions do nothing. Without an upgrade function a module with
 * a NIF cannot be loaded again. */
static int on_load(ErlNifEnv *env, void **priv, ERL_NIF_TERM info)
{
    (void)env;
    (void)priv;
    (void)info;
    return 0;
}

static int on_upgrade(ErlNifEnv *env, void **priv, void **old_priv, ERL_NIF_TERM info)
{
    (void)env;
    (void)priv;
    (void)old_priv;
    (void)info;
    return 0;
}

static void on_unload(ErlNifEnv *env, void *priv)
{
    (void)env;
    (void)priv;
}

static ErlNifFunc functions[] = {
    {"loaded", 0, loaded, 0},
    {"busy", 1, busy, 0},
    {"sleep", 1, sleep_for, 0},
    {"busy_charge", 1, busy_charge, 0},
    {"sleep_charge", 1, sleep_charge, 0},
    {"busy_dirty", 1, busy, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"sleep_dirty", 1, sleep_for, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"busy_yield", 1, busy_yield, 0},
    {"sleep_yield", 1, sleep_yield, 0},
};

ERL_NIF_INIT(tailback_nif, functions, on_load, NULL, on_upgrade, on_unload)
