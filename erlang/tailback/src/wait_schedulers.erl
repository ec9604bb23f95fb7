%% @private
%% @doc The VM's figures about its schedulers: their number, their queue lengths, and their use.
-module(wait_schedulers).

-export([count/1, lanes/2, run_queues/0, watch_use/0, unwatch_use/0, use_now/0, use/3, percent/1]).
-export_type([kind/0, use_mark/0, run_queues/0]).

-type kind() :: normal | dirty_cpu | dirty_io.

-opaque use_mark() :: {integer(), [{pos_integer(), integer(), integer()}]}.

%% A length for each online normal scheduler; dirty schedulers of a kind share one queue.
-type run_queues() :: {
    Normal :: [non_neg_integer(), ...], DirtyCpu :: non_neg_integer(), DirtyIo :: non_neg_integer()
}.

%% @doc How many schedulers of a kind are online.
-spec count(kind()) -> pos_integer().
count(normal) -> erlang:system_info(schedulers_online);
count(dirty_cpu) -> erlang:system_info(dirty_cpu_schedulers_online);
count(dirty_io) -> erlang:system_info(dirty_io_schedulers).

%% @doc How many workers can make progress at once on schedulers of a kind. If their work needs a
%% CPU, this is at most the number of CPUs.
-spec lanes(kind(), NeedsCpu :: boolean()) -> pos_integer().
lanes(Kind, false) -> count(Kind);
lanes(Kind, true) -> min(count(Kind), cpus()).

-spec cpus() -> pos_integer().
cpus() ->
    Known = [
        Count
     || What <- [logical_processors_available, logical_processors_online, logical_processors],
        Count <- [erlang:system_info(What)],
        is_integer(Count)
    ],
    case Known of
        [Count | _] -> Count;
        [] -> count(normal)
    end.

%% @doc The lengths of the run queues now, without those of offline schedulers.
-spec run_queues() -> run_queues().
run_queues() ->
    Lengths = erlang:statistics(run_queue_lengths_all),
    {Normal, [DirtyCpu, DirtyIo]} = lists:split(length(Lengths) - 2, Lengths),
    {lists:sublist(Normal, count(normal)), DirtyCpu, DirtyIo}.

%% @doc Asks the VM to keep scheduler wall time for as long as the calling process lives.
%%
%% The request belongs to the process. When the process ends, the VM goes back to what other
%% processes have requested, so there is nothing to restore. The first of all requests returns
%% `false', which is no failure.
-spec watch_use() -> ok.
watch_use() ->
    _ = erlang:system_flag(scheduler_wall_time, true),
    ok.

%% @doc Withdraws the request of {@link watch_use/0}, and returns when that is done. Without this
%% call the VM withdraws it some milliseconds after the process has ended.
-spec unwatch_use() -> ok.
unwatch_use() ->
    _ = erlang:system_flag(scheduler_wall_time, false),
    ok.

%% @doc A mark for {@link use/3}. Call {@link watch_use/0} before.
-spec use_now() -> use_mark().
use_now() ->
    case erlang:statistics(scheduler_wall_time_all) of
        undefined -> {erlang:monotonic_time(), []};
        Times -> {erlang:monotonic_time(), lists:sort(Times)}
    end.

%% @doc The use of each scheduler from the time `Since' (in native units) to the second mark, by
%% id. Assumes that the schedulers had nothing to do between the first mark and that time.
%%
%% The VM counts in its own unit; the wall-clock time between the marks gives the scale.
-spec use(use_mark(), Since :: integer(), use_mark()) -> [wait:scheduler_use()].
use({FromTime, From}, Since, {ToTime, To}) ->
    TotalUs = micro(ToTime - Since),
    [
        #{
            id => Id,
            kind => kind(Id),
            active_us => min(TotalUs, part(micro(ToTime - FromTime), Active1 - Active0, Total1 - Total0)),
            total_us => TotalUs
        }
     || {{Id, Active0, Total0}, {Id, Active1, Total1}} <- lists:zip(From, To)
    ].

-spec part(non_neg_integer(), integer(), integer()) -> non_neg_integer().
part(_WallUs, _Active, Total) when Total =< 0 -> 0;
part(WallUs, Active, Total) -> max(0, round(WallUs * Active / Total)).

-spec micro(integer()) -> integer().
micro(Native) ->
    erlang:convert_time_unit(Native, native, microsecond).

-spec kind(pos_integer()) -> kind().
kind(Id) ->
    Normal = erlang:system_info(schedulers),
    Cpu = erlang:system_info(dirty_cpu_schedulers),
    if
        Id =< Normal -> normal;
        Id =< Normal + Cpu -> dirty_cpu;
        true -> dirty_io
    end.

%% @doc Active time in per cent of the total.
-spec percent(wait:scheduler_use()) -> float().
percent(#{total_us := 0}) -> 0.0;
percent(#{active_us := Active, total_us := Total}) -> 100.0 * Active / Total.
