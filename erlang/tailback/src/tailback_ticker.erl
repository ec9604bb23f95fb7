%% @doc A process that should wake up at regular intervals, and reports how late it did.
%%
%% It runs at normal priority by default, like the timers of an application. The schedule is
%% absolute: tick `K' (from 1) is due `K * IntervalMs' after the start, however late earlier ticks
%% were. So a stall of 200 ms shows as twenty late ticks at an interval of 10 ms, and not as one.
%%
%% On each wake-up it reports `{tick, K, LateUs}' for every tick that is due. `LateUs' is the
%% lateness by its own clock, in microseconds. A receiver outside the VM can also time the
%% arrival, which includes delays that the ticker cannot see. If a stall left more than 1000 ticks
%% due, it reports `{ticks, First, Last, LateUs}' once, with the lateness of the first tick.
-module(tailback_ticker).

-export([start/2, start/3, stop/1]).

-define(MAX_TICKS, 1000).
-define(STOP_MS, 5000).

-record(ticker, {
    start :: integer(),
    interval_us :: pos_integer(),
    tell :: tailback_tell:tell()
}).

%% @doc Starts a ticker, with an interval of whole milliseconds.
%%
%% It is not linked. It runs until {@link stop/1}, or until a report fails. Anything but a
%% positive interval and a receiver fails with `badarg'.
-spec start(IntervalMs :: pos_integer(), tailback_tell:tell()) -> pid().
start(IntervalMs, Tell) ->
    start(IntervalMs, Tell, normal).

%% @doc As {@link start/2}, at another priority. A process of priority `high' runs before all
%% ordinary ones, so only what cannot be interrupted makes it late.
-spec start(IntervalMs :: pos_integer(), tailback_tell:tell(), normal | high | max) -> pid().
start(IntervalMs, Tell, Priority) when is_integer(IntervalMs), IntervalMs > 0 ->
    case tailback_tell:is_tell(Tell) of
        true -> spawn_opt(fun() -> tick(1, new(IntervalMs, Tell)) end, [{priority, Priority}]);
        false -> erlang:error(badarg, [IntervalMs, Tell, Priority])
    end;
start(IntervalMs, Tell, Priority) ->
    erlang:error(badarg, [IntervalMs, Tell, Priority]).

%% @doc Stops a ticker, which reports nothing more after the return.
%%
%% If the ticker cannot run, it is killed after five seconds.
-spec stop(pid()) -> ok.
stop(Pid) ->
    Monitor = erlang:monitor(process, Pid),
    Pid ! {?MODULE, stop},
    receive
        {'DOWN', Monitor, process, Pid, _} -> ok
    after ?STOP_MS ->
        exit(Pid, kill),
        receive
            {'DOWN', Monitor, process, Pid, _} -> ok
        end
    end.

-spec new(pos_integer(), tailback_tell:tell()) -> #ticker{}.
new(IntervalMs, Tell) ->
    #ticker{start = now_us(), interval_us = IntervalMs * 1000, tell = Tell}.

-spec tick(pos_integer(), #ticker{}) -> ok.
tick(K, Ticker) ->
    receive
        {?MODULE, stop} -> ok
    after wait_ms(K, Ticker) ->
        Due = (now_us() - Ticker#ticker.start) div Ticker#ticker.interval_us,
        try tell(K, Due, Ticker) of
            ok -> tick(max(K, Due + 1), Ticker)
        catch
            Class:Reason -> exit({tell_failed, Class, Reason})
        end
    end.

-spec tell(pos_integer(), integer(), #ticker{}) -> ok.
tell(K, Due, Ticker) when Due - K >= ?MAX_TICKS ->
    tailback_tell:tell(Ticker#ticker.tell, {ticks, K, Due, late_us(K, Ticker)});
tell(K, Due, _) when K > Due ->
    ok;
tell(K, Due, Ticker) ->
    ok = tailback_tell:tell(Ticker#ticker.tell, {tick, K, late_us(K, Ticker)}),
    tell(K + 1, Due, Ticker).

-spec late_us(pos_integer(), #ticker{}) -> integer().
late_us(K, #ticker{start = Start, interval_us = IntervalUs}) ->
    now_us() - (Start + K * IntervalUs).

%% Rounded up, so that the tick is due when the timer fires; one timer waits at most a day.
-spec wait_ms(pos_integer(), #ticker{}) -> non_neg_integer().
wait_ms(K, Ticker) ->
    min(86400000, max(0, (999 - late_us(K, Ticker)) div 1000)).

-spec now_us() -> integer().
now_us() ->
    erlang:monotonic_time(microsecond).
