%% @private
%% @doc Reads the run queues at regular intervals, at priority `max'.
%%
%% The sampler is a process, so it stalls with the scheduler that it is on. While that scheduler
%% is blocked, samples are missing: a gap in their times means that nothing could be read. It
%% keeps at most 10,000 samples. At that number every other one is dropped, as often as needed.
%% The class counts cover all samples.
-module(wait_sampler).

-export([start/1, go/2, stop/1]).
-export_type([seen/0]).

-type seen() :: #{
    samples := [wait:sample()],
    class_counts := #{wait_balance:class() => non_neg_integer()}
}.

-record(sampler, {
    owner :: pid(),
    every :: pos_integer(),
    start = 0 :: integer(),
    last = none :: none | wait_balance:balance(),
    taken = 0 :: non_neg_integer(),
    stride = 1 :: pos_integer(),
    samples = [] :: [wait:sample()],
    kept = 0 :: non_neg_integer(),
    counts = #{even => 0, minority_zero => 0, unbalanced => 0} ::
        #{wait_balance:class() => non_neg_integer()}
}).

-define(MAX_SAMPLES, 10000).

%% @doc Starts a sampler, linked to the caller, that waits for {@link go/2}.
%%
%% The caller gets `{changed, Time, Balance, RunQueues}' whenever class or ratio changes. `Time'
%% is the time of day.
-spec start(EveryMs :: pos_integer()) -> pid().
start(EveryMs) ->
    Sampler = #sampler{owner = self(), every = EveryMs},
    spawn_opt(fun() -> await_go(Sampler) end, [link, {priority, max}]).

%% @doc Starts sampling; times count from `Start', in native units.
-spec go(pid(), Start :: integer()) -> ok.
go(Pid, Start) ->
    Pid ! {go, Start},
    ok.

%% @doc Ends the sampler and returns its samples.
-spec stop(pid()) -> seen().
stop(Pid) ->
    Monitor = erlang:monitor(process, Pid),
    true = erlang:unlink(Pid),
    Pid ! {stop, self(), Monitor},
    receive
        {Monitor, Seen} ->
            true = erlang:demonitor(Monitor, [flush]),
            Seen;
        {'DOWN', Monitor, process, Pid, Reason} ->
            exit(Reason)
    end.

-spec await_go(#sampler{}) -> ok.
await_go(Sampler) ->
    receive
        {go, Start} -> sample(Sampler#sampler{start = Start});
        {stop, From, Tag} -> answer(From, Tag, Sampler)
    end.

-spec sample(#sampler{}) -> ok.
sample(Sampler) ->
    Queues = wait_schedulers:run_queues(),
    Balance = wait_balance:balance(element(1, Queues)),
    ok = tell_change(Balance, Queues, Sampler),
    Next = keep(Queues, Balance, Sampler),
    receive
        {stop, From, Tag} -> answer(From, Tag, Next)
    after wait_ms(Next) -> sample(Next)
    end.

-spec tell_change(wait_balance:balance(), wait_schedulers:run_queues(), #sampler{}) -> ok.
tell_change(Balance, _Queues, #sampler{last = Balance}) ->
    ok;
tell_change(Balance, Queues, #sampler{owner = Owner}) ->
    Owner ! {changed, time(), Balance, Queues},
    ok.

-spec keep(wait_schedulers:run_queues(), wait_balance:balance(), #sampler{}) -> #sampler{}.
keep({Normal, DirtyCpu, DirtyIo}, {Class, _} = Balance, Sampler) ->
    #sampler{taken = Taken, stride = Stride, counts = Counts} = Sampler,
    Counted = Sampler#sampler{
        last = Balance,
        taken = Taken + 1,
        counts = maps:update_with(Class, fun(Count) -> Count + 1 end, Counts)
    },
    case Taken rem Stride of
        0 -> thin(add({elapsed_us(Sampler), Normal, DirtyCpu, DirtyIo}, Counted));
        _ -> Counted
    end.

-spec add(wait:sample(), #sampler{}) -> #sampler{}.
add(Sample, #sampler{samples = Samples, kept = Kept} = Sampler) ->
    Sampler#sampler{samples = [Sample | Samples], kept = Kept + 1}.

%% Drops the newest sample first. The number is even, so the oldest one stays, and the next new
%% sample keeps the spacing.
-spec thin(#sampler{}) -> #sampler{}.
thin(#sampler{kept = ?MAX_SAMPLES, samples = Samples, stride = Stride} = Sampler) ->
    Sampler#sampler{
        samples = every_other(Samples), kept = ?MAX_SAMPLES div 2, stride = 2 * Stride
    };
thin(Sampler) ->
    Sampler.

-spec every_other([wait:sample()]) -> [wait:sample()].
every_other([_, Sample | Rest]) -> [Sample | every_other(Rest)];
every_other([]) -> [].

-spec answer(pid(), reference(), #sampler{}) -> ok.
answer(From, Tag, #sampler{samples = Samples, counts = Counts}) ->
    From ! {Tag, #{samples => lists:reverse(Samples), class_counts => Counts}},
    ok.

%% Sampling times are multiples of the interval from the start, so lateness does not add up.
-spec wait_ms(#sampler{}) -> non_neg_integer().
wait_ms(#sampler{every = Every} = Sampler) ->
    Every - elapsed_us(Sampler) div 1000 rem Every.

-spec elapsed_us(#sampler{}) -> non_neg_integer().
elapsed_us(#sampler{start = Start}) ->
    max(0, erlang:convert_time_unit(erlang:monotonic_time() - Start, native, microsecond)).
