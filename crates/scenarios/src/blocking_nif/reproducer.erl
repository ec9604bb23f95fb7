%% One process spawns ?PROCESSES processes, and each of them calls a native function ?CALLS times.
%% The call keeps its scheduler for ?WORK_US microseconds and charges no reductions. In the
%% control, it does the same in slices of a millisecond that yield. A trial finds how much of the
%% time schedulers slept while work was queued. This is a lower bound, in percent.

-nifs([at_once/1, in_slices/1]).

set_up(_, Folder) ->
    Source = filename:join(Folder, "stall.c"),
    ok = file:write_file(Source, source()),
    Include = filename:join([code:root_dir(), "usr", "include"]),
    case {filelib:is_regular(filename:join(Include, "erl_nif.h")), os:find_executable("cc")} of
        {false, _} -> missing("no ~ts/erl_nif.h (Debian: erlang-dev)", [Include]);
        {true, false} -> missing("no C compiler (cc)", []);
        {true, Cc} -> build(Cc, Include, Source, filename:join(Folder, "stall.so"))
    end,
    [].

build(Cc, Include, Source, Library) ->
    Busy = "-DBUSY=" ++ integer_to_list(?BUSY),
    Words = ["-O2", "-fPIC", "-shared", Busy, "-I" ++ Include, "-o", Library, Source],
    built(open_port({spawn_executable, Cc}, [{args, Words}, exit_status, {line, 1000}]), Cc).

built(Port, Cc) ->
    receive
        {Port, {exit_status, 0}} -> ok;
        {Port, {exit_status, Code}} -> broken("~ts ended with ~b", [Cc, Code]);
        {Port, {data, _}} -> built(Port, Cc)
    end.

missing(Format, Values) -> throw({missing, io_lib:format(Format, Values)}).

source() ->
    "#include <errno.h>\n"
    "#include <time.h>\n"
    "#include <erl_nif.h>\n"
    "static ErlNifUInt64 now(void) {\n"
    "  struct timespec t;\n"
    "  clock_gettime(BUSY ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);\n"
    "  return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;\n"
    "}\n"
    "static ErlNifUInt64 spend(ErlNifUInt64 us) {\n"
    "  struct timespec t = { us / 1000000, us % 1000000 * 1000 };\n"
    "  ErlNifUInt64 begin = now();\n"
    "  if (BUSY) while (now() < begin + us) ;\n"
    "  else while (nanosleep(&t, &t) && errno == EINTR) ;\n"
    "  return now() - begin > us ? now() - begin : us;\n"
    "}\n"
    "static ERL_NIF_TERM at_once(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "  ErlNifUInt64 us;\n"
    "  if (!enif_get_uint64(env, argv[0], &us)) return enif_make_badarg(env);\n"
    "  spend(us);\n"
    "  return enif_make_atom(env, \"ok\");\n"
    "}\n"
    "static ERL_NIF_TERM in_slices(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "  ErlNifUInt64 us, spent;\n"
    "  ERL_NIF_TERM left;\n"
    "  if (!enif_get_uint64(env, argv[0], &us)) return enif_make_badarg(env);\n"
    "  spent = spend(us < 1000 ? us : 1000);\n"
    "  enif_consume_timeslice(env, spent < 10 ? 1 : spent < 1000 ? spent / 10 : 100);\n"
    "  if (spent >= us) return enif_make_atom(env, \"ok\");\n"
    "  left = enif_make_uint64(env, us - spent);\n"
    "  return enif_schedule_nif(env, \"in_slices\", 0, in_slices, 1, &left);\n"
    "}\n"
    "static ErlNifFunc functions[] = {\n"
    "  {\"at_once\", 1, at_once, 0}, {\"in_slices\", 1, in_slices, 0}\n"
    "};\n"
    "ERL_NIF_INIT(stall, functions, NULL, NULL, NULL, NULL)\n".

at_once(_) -> erlang:nif_error(not_loaded).

in_slices(_) -> erlang:nif_error(not_loaded).

trial(Arm, _) ->
    Folder = filename:dirname(code:which(?MODULE)),
    case erlang:load_nif(filename:join(Folder, "stall"), 0) of
        ok -> ok;
        {error, {_, Why}} -> missing("~ts; set TMPDIR if it is mounted noexec", [Why])
    end,
    _ = erlang:system_flag(scheduler_wall_time, true),
    Self = self(),
    Board = atomics:new(2 + ?PROCESSES, []),
    Work = fun(Number) -> spawn_link(fun() -> worker(Arm, Number, Board, Self) end) end,
    Workers = lists:map(Work, lists:seq(1, ?PROCESSES)),
    ok = await(ready),
    Before = times(),
    %% Idle schedulers look for work for a moment before they sleep.
    ok = timer:sleep(20),
    %% No worker runs on this scheduler before all workers got the go message.
    normal = process_flag(priority, high),
    Start = now_us(),
    _ = [Worker ! go || Worker <- Workers],
    high = process_flag(priority, normal),
    ok = await(finished),
    Ends = [atomics:get(Board, 2 + Number) - Start || Number <- lists:seq(1, ?PROCESSES)],
    asleep(queued_until(Ends), Start, Before, times()).

await(News) ->
    receive
        News -> ok
    end.

%% Only the last worker that is ready, and the last one that ends, sends a message.
worker(Arm, Number, Board, Owner) ->
    _ = [Owner ! ready || atomics:add_get(Board, 1, 1) =:= ?PROCESSES],
    ok = await(go),
    ok = calls(Arm, ?CALLS),
    ok = turn(?ITERATIONS),
    ok = atomics:put(Board, 2 + Number, now_us()),
    _ = [Owner ! finished || atomics:add_get(Board, 2, 1) =:= ?PROCESSES],
    ok.

calls(_, 0) ->
    ok;
calls(Arm, Left) ->
    ok = call(Arm),
    calls(Arm, Left - 1).

turn(0) -> ok;
turn(Left) -> turn(Left - 1).

call(cause) -> at_once(?WORK_US);
call(control) -> in_slices(?WORK_US).

now_us() -> erlang:monotonic_time(microsecond).

%% Active and total time of each normal scheduler.
times() ->
    All = lists:sort(erlang:statistics(scheduler_wall_time_all)),
    {now_us(), lists:sublist(All, erlang:system_info(schedulers))}.

%% Number of processes that can make progress at the same time. Work that burns CPU needs a CPU for
%% each.
lanes() ->
    lanes(?BUSY, erlang:system_info(logical_processors_available)).

lanes(1, Cpus) when is_integer(Cpus) -> min(Cpus, lanes(0, Cpus));
lanes(_, _) -> erlang:system_info(schedulers_online).

%% The time until which at least one process had to wait for a scheduler.
queued_until(Ends) ->
    case length(Ends) - lanes() of
        Left when Left > 0 -> lists:nth(Left, lists:sort(Ends));
        _ -> 0
    end.

%% Until then, a scheduler was not active for longer than in the whole run. It slept for the rest.
asleep(Until, _, _, _) when Until =< 0 ->
    0.0;
asleep(Until, Start, {From, Before}, {To, After}) ->
    Active = [
        min(To - Start, (To - From) * (Active1 - Active0) / max(1, Total1 - Total0))
     || {{Id, Active0, Total0}, {Id, Active1, Total1}} <- lists:zip(Before, After)
    ],
    Slept = lists:sum([max(0, Until - One) || One <- Active]),
    Idle = lanes() * Until - lists:sum([min(One, Until) || One <- Active]),
    100 * max(0, min(Idle, Slept)) / (lanes() * Until).
