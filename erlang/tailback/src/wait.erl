%% @doc Shows what blocking work does to the schedulers of the Erlang VM.
%%
%% A run spawns `N' processes from one process, so all of them start in its run queue. Each
%% process makes `R' calls with work `W' (in bytes or microseconds, depending on the mode), then
%% counts down from `BW' in Erlang, and ends. Meanwhile the run queues are sampled. The module can
%% be used alone: `erl -pa ebin', then
%%
%% ```
%% wait:run(4*100, 1024*1024, 1100, 5).
%% wait:run(nif_sleep, 20, 30000, 2, 0).
%% wait:collapse().
%% '''
%%
%% Modes:
%% <ul>
%% <li>`md5': MD5 of `W' bytes; `md5_yield': the same in parts of 64 KiB, with a yield before each
%%     part.</li>
%% <li>`nif_busy', `nif_sleep': a NIF that uses `W' microseconds of CPU time, or sleeps for that
%%     time, and keeps its scheduler; `nif_busy_charge', `nif_charge': the same, charged as a
%%     timeslice at the end; `nif_busy_dirty', `nif_dirty': on dirty CPU schedulers;
%%     `nif_busy_yield', `nif_yield': in slices of at most a millisecond.</li>
%% <li>`bignum': one squaring of about `W' microseconds that cannot be interrupted; the operand is
%%     sized for this machine before the run starts; `bignum_yield': the same work in squarings of
%%     at most about 500 microseconds, with a yield after each. These modes need no compiler.</li>
%% </ul>
-module(wait).

-export([run/1, run/4, run/5, measure/1, collapse/0, collapse/1]).
-export_type([run_result/0]).

-type run_result() :: {
    RunTimes :: [Seconds :: float()],
    SchedulerUse :: [{SchedulerId :: pos_integer(), Percent :: float()}]
}.

%% As in the original: the pause after all workers are ready, and the time between two samples of
%% the run queues.
-define(SETTLE_MS, 1000).
-define(SAMPLE_MS, 500).

%% @doc Runs with arguments as `erl -run wait run 400 1048576 20 5' passes them: `N', `W', `R',
%% `BW', optionally after a mode.
-spec run([string() | atom() | binary() | integer()]) -> run_result() | wait_options:refusal().
run(Arguments) ->
    case wait_options:from_strings(Arguments) of
        {ok, Options} -> print_run(Options);
        {error, Refusal} -> refuse(Refusal)
    end.

%% @doc Runs in mode `md5'.
-spec run(
    N :: pos_integer(), W :: non_neg_integer(), R :: non_neg_integer(), BW :: non_neg_integer()
) -> run_result() | wait_options:refusal().
run(N, W, R, BW) ->
    run(md5, N, W, R, BW).

%% @doc Runs, prints what happens, and returns the run times and the scheduler use.
%%
%% A run time is the wall-clock time in seconds from the moment at which a worker takes its `go'
%% message to the moment at which it has finished. The run times are in the order in which the
%% workers were spawned. The use covers all normal schedulers, offline ones too, over the whole
%% run. A line about the run queues of the online schedulers is printed when their class or ratio
%% differs from 500 ms earlier; see {@link wait_balance}. If the run is refused, the reason is
%% printed in one line.
-spec run(
    wait_modes:mode(),
    N :: pos_integer(),
    W :: non_neg_integer(),
    R :: non_neg_integer(),
    BW :: non_neg_integer()
) -> run_result() | wait_options:refusal().
run(Mode, N, W, R, BW) ->
    print_run(#{mode => Mode, processes => N, work => W, calls => R, iterations => BW}).

%% @doc Measures a run and prints nothing; see {@link wait_options:options()} and
%% {@link wait_trial:result()}.
%%
%% The ideal is the time of the run if every scheduler that can run the calls of the mode worked
%% all the time. If a call needs a CPU, at most as many schedulers count as there are CPUs. The
%% ideal is the number of workers divided by the number of schedulers, rounded up, times the cost
%% of one worker. It is a reference for the wall-clock time, not a bound: the costs of MD5,
%% squarings and busy wait were measured once.
%%
%% The option `tell' gets `{phase, ready | go | finished}'. The sampling process has priority
%% `max', but it still stalls with its scheduler; then samples are missing.
-spec measure(wait_options:options()) ->
    {ok, wait_trial:result()} | {error, {atom(), binary()}}.
measure(Options) ->
    case wait_options:check(Options) of
        {ok, #{tell := none} = Plan} -> wait_trial:run(Plan, fun(_) -> ok end);
        {ok, #{tell := Tell} = Plan} -> wait_trial:run(Plan, fun(Event) -> tell(Tell, Event) end);
        Refusal -> Refusal
    end.

%% @doc As {@link collapse/1} with its defaults.
-spec collapse() -> wait_collapse:answer().
collapse() ->
    collapse(#{}).

%% @doc Tries to make schedulers fall asleep while work is queued, and returns whether they did.
-spec collapse(wait_collapse:options()) -> wait_collapse:answer().
collapse(Options) ->
    case wait_collapse:run(Options) of
        {error, Refusal} -> refuse(Refusal);
        Answer -> Answer
    end.

-spec tell(tailback_tell:tell(), wait_trial:event()) -> ok.
tell(Tell, Event) when Event =:= ready; Event =:= go; Event =:= finished ->
    tailback_tell:tell(Tell, {phase, Event});
tell(_, _) ->
    ok.

-spec print_run(map()) -> run_result() | wait_options:refusal().
print_run(Options) ->
    case wait_options:check(Options#{settle_ms => ?SETTLE_MS, sample_ms => ?SAMPLE_MS}) of
        {ok, #{mode := Mode} = Plan} ->
            Kind = wait_modes:kind(Mode),
            print_result(wait_trial:run(Plan, fun(Event) -> wait_lines:print(Event, Kind) end));
        {error, Refusal} ->
            refuse(Refusal)
    end.

-spec print_result({ok, wait_trial:result()} | wait_options:refusal()) ->
    run_result() | wait_options:refusal().
print_result({ok, #{run_times_us := RunTimes, scheduler_use := Use, lane_kind := Kind}}) ->
    Normal = percents(Use, normal),
    ok = wait_lines:use(Normal, [Percent || Kind =:= dirty_cpu, Percent <- percents(Use, dirty_cpu)]),
    {[Us / 1000000 || Us <- RunTimes], Normal};
print_result({error, Refusal}) ->
    refuse(Refusal).

-spec percents([wait_schedulers:use()], wait_schedulers:kind()) -> [{pos_integer(), float()}].
percents(Use, Kind) ->
    [{Id, wait_schedulers:percent(One)} || #{id := Id, kind := K} = One <- Use, K =:= Kind].

-spec refuse({atom(), binary()}) -> wait_options:refusal().
refuse(Refusal) ->
    ok = wait_lines:refusal(Refusal),
    {error, Refusal}.
