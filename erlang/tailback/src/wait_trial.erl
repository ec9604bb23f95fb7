%% @private
%% @doc One run: workers from one spawner, a `go' for each, samples, and the times of all workers.
%%
%% A run has a process of its own, the coordinator. It spawns the workers and is linked to them,
%% requests scheduler wall time, and raises its own priority for a while. However the coordinator
%% ends, all of that ends with it. The flags, priority and mailbox of the caller are never
%% touched. The coordinator ends when its caller ends.
-module(wait_trial).

-export([run/2]).
-export_type([event/0]).

%% The events, in this order; `changed' may come any number of times.
-type event() ::
    ready
    | go
    | sent
    | {status_loop, Seconds :: float()}
    | {monitor_loop, Seconds :: float()}
    | {changed, calendar:time(), wait_balance:balance(), wait_schedulers:run_queues()}
    | finished.

-type prepared() :: #{
    job := wait_modes:job(), call_us := float(), iterations_us := float()
}.

%% Most bytes of the operands of all workers together; more could make the machine swap.
-define(MAX_OPERANDS, 2147483648).

%% The coordinator returns its result as its exit reason.
-dialyzer({no_return, run/2}).

%% @doc Runs a checked plan and returns the measurements. The coordinator calls `Report' with each
%% event, but not between the first go and the last, since that would delay workers.
-spec run(wait_options:plan(), fun((event()) -> any())) ->
    {ok, wait:result()} | {error, {atom(), binary()}}.
run(Plan, Report) ->
    Caller = self(),
    {Coordinator, Monitor} = spawn_monitor(fun() -> coordinate(Caller, Plan, Report) end),
    receive
        {'DOWN', Monitor, process, Coordinator, {done, Result}} -> Result;
        {'DOWN', Monitor, process, Coordinator, Reason} -> {error, broken_off(Reason)}
    end.

-spec broken_off(term()) -> {run_broken_off, binary()}.
broken_off(Reason) ->
    {run_broken_off, wait_text:line("the run was broken off: ~0tP; run it again", [Reason, 20])}.

%% A failure becomes an exit, which is not printed. The VM would log an error.
-spec coordinate(pid(), wait_options:plan(), fun((event()) -> any())) -> no_return().
coordinate(Caller, Plan, Report) ->
    _ = erlang:monitor(process, Caller),
    Result =
        try
            prepare_and_perform(Plan, Report)
        catch
            error:Reason:Stack -> exit({Reason, hd(Stack ++ [none])})
        end,
    exit({done, Result}).

-spec prepare_and_perform(wait_options:plan(), fun((event()) -> any())) ->
    {ok, wait:result()} | {error, {atom(), binary()}}.
prepare_and_perform(#{mode := Mode, work := Work, iterations := Iterations} = Plan, Report) ->
    case wait_modes:prepare(Mode, Work) of
        {ok, Job, CallUs} ->
            Prepared = #{
                job => Job,
                call_us => CallUs,
                iterations_us => wait_clock:busy_wait_us(Iterations)
            },
            case operands_fit(Plan, Job) of
                ok -> {ok, perform(Plan, Prepared, Report)};
                Refusal -> Refusal
            end;
        Refusal ->
            Refusal
    end.

-spec operands_fit(wait_options:plan(), wait_modes:job()) -> ok | {error, {atom(), binary()}}.
operands_fit(#{processes := Count, work := Work}, Job) ->
    case Count * wait_modes:operand_bytes(Job) of
        Bytes when Bytes =< ?MAX_OPERANDS ->
            ok;
        Bytes ->
            {error,
                {too_much_memory,
                    wait_text:line(
                        "work: integers that take ~b us to square need up to ~b MiB in ~b processes;"
                        " ask for less work or fewer processes",
                        [Work, Bytes div 1048576, Count]
                    )}}
    end.

-spec perform(wait_options:plan(), prepared(), fun((event()) -> any())) -> wait:result().
perform(#{processes := Count, sample_ms := SampleMs} = Plan, Prepared, Report) ->
    ok = wait_schedulers:watch_use(),
    Board = wait_worker:new_board(Count),
    Task = #{
        job => maps:get(job, Prepared),
        calls => maps:get(calls, Plan),
        iterations => maps:get(iterations, Plan)
    },
    Workers = wait_worker:spawn_all(Count, Board, Task),
    ok = await(ready, Report),
    _ = Report(ready),
    Sampler = wait_sampler:start(SampleMs),
    %% Reading the schedulers' times wakes all of them, so it is done before they come to rest.
    Before = wait_schedulers:use_now(),
    ok = settle(maps:get(settle_ms, Plan)),
    _ = Report(go),
    Clock = {os:system_time(microsecond), erlang:monotonic_time()},
    Sent = send_go(Workers, Sampler, Clock, Report),
    ok = await(finished, Report),
    Use = wait_schedulers:use(Before, element(2, Clock), wait_schedulers:use_now()),
    ok = wait_schedulers:unwatch_use(),
    Seen = wait_sampler:stop(Sampler),
    _ = Report(finished),
    Times = wait_worker:times(Count, Board),
    maps:merge(about(Plan, Prepared), figures(Clock, Sent, Times, Use, Seen)).

%% Returns the time at which the last go was sent. The priority is high so that no worker runs on
%% this scheduler before all have their go. Afterwards it is normal again: a process of high
%% priority that wakes up during the run brings sleeping schedulers back to work (measured: the
%% run of the README then takes 1.03 s and not 1.21 s).
-spec send_go([pid()], pid(), {integer(), integer()}, fun((event()) -> any())) -> integer().
send_go(Workers, Sampler, {_, FirstGo}, Report) ->
    normal = process_flag(priority, high),
    ok = lists:foreach(fun(Worker) -> Worker ! go end, Workers),
    Sent = erlang:monotonic_time(),
    ok = wait_sampler:go(Sampler, FirstGo),
    _ = Report(sent),
    _ = Report({status_loop, seconds_since(FirstGo)}),
    _ = Report({monitor_loop, seconds_since(FirstGo)}),
    high = process_flag(priority, normal),
    Sent.

-spec await(ready | finished, fun((event()) -> any())) -> ok.
await(Event, Report) ->
    receive
        Event ->
            ok;
        {changed, _, _, _} = Changed ->
            _ = Report(Changed),
            await(Event, Report);
        {'DOWN', _, process, _, _} ->
            exit(caller_gone)
    end.

%% Lets the schedulers come to rest, so that a run starts from a quiet node.
-spec settle(non_neg_integer()) -> ok.
settle(Ms) ->
    receive
        {'DOWN', _, process, _, _} -> exit(caller_gone)
    after Ms -> ok
    end.

-spec about(wait_options:plan(), prepared()) -> map().
about(Plan, #{call_us := CallUs, iterations_us := IterationsUs}) ->
    #{mode := Mode, processes := Count, calls := Calls} = Plan,
    Kind = wait_modes:kind(Mode),
    Lanes = wait_schedulers:lanes(Kind, wait_modes:needs_cpu(Mode)),
    Asked = maps:with([mode, processes, work, calls, iterations], Plan),
    Asked#{
        call_us => CallUs,
        iterations_us => IterationsUs,
        ideal_us => ceil(Count / Lanes) * (Calls * CallUs + IterationsUs),
        lanes => Lanes,
        lane_kind => Kind,
        schedulers_online => wait_schedulers:count(normal),
        dirty_cpu_online => wait_schedulers:count(dirty_cpu)
    }.

-spec figures(
    {integer(), integer()},
    integer(),
    [{integer(), integer()}, ...],
    [wait:scheduler_use()],
    wait_sampler:seen()
) -> map().
figures({SystemUs, FirstGo}, Sent, Times, Use, #{samples := Samples, class_counts := Counts}) ->
    Finishes = [micro(Finish - FirstGo) || {_, Finish} <- Times],
    #{
        first_go_us => SystemUs,
        sent_us => micro(Sent - FirstGo),
        wall_us => lists:max(Finishes),
        run_times_us => [micro(Finish - Start) || {Start, Finish} <- Times],
        finish_us => Finishes,
        scheduler_use => Use,
        run_queues => Samples,
        class_counts => Counts
    }.

-spec micro(integer()) -> integer().
micro(Native) ->
    erlang:convert_time_unit(Native, native, microsecond).

-spec seconds_since(integer()) -> float().
seconds_since(Start) ->
    micro(erlang:monotonic_time() - Start) / 1000000.
