%% The code of the nodes of scripts/dose. A load prints what it lost by its own clock, at most ten
%% times a second, like the loads of scripts/loads.c, but with the time of day.
-module(dose).
-export([call/3, scan/2, pile/2, work/2]).

%% A call into native code in each period, on the first scheduler. Lost: the time in the calls.
call(Function, Us, PeriodUs) ->
    on_first(fun() -> each(now_us(), PeriodUs, fun() -> nap:Function(Us) end, 0) end).

%% A process with many messages that keeps asking another process for BusyUs in each period. Lost:
%% the time in which it asked. The other process answers at once, so this is the time of the scans.
scan(BusyUs, PeriodUs) ->
    Echo = spawn(fun echo/0),
    Ask = fun() -> until(now_us() + BusyUs, fun() -> ask(Echo) end) end,
    spawn(fun() ->
        [self() ! N || N <- lists:seq(1, 20000)],
        each(now_us(), PeriodUs, Ask, 0)
    end).

echo() ->
    receive
        From -> From ! answer
    end,
    echo().

%% Without a reference: with a reference the VM would skip the older messages.
ask(Echo) ->
    Echo ! self(),
    receive
        answer -> ok
    end.

%% Ten processes that compute on the first scheduler for BusyUs in each period. Lost: the time in
%% which five or more waited in one run queue while another was empty, by the VM's own figures.
pile(BusyUs, PeriodUs) ->
    Begin = now_us() + 500000,
    Compute = fun() -> lists:sort(lists:seq(1, 300)) end,
    Busy = fun() -> until(now_us() + BusyUs, Compute) end,
    [on_first(fun() -> each(Begin, PeriodUs, Busy, none) end) || _ <- lists:seq(1, 10)],
    spawn_opt(fun() -> look_at_queues(now_us(), 0) end, [{scheduler, 2}, {priority, high}]).

look_at_queues(Last, Uneven) ->
    timer:sleep(5),
    Now = now_us(),
    Queues = statistics(run_queue_lengths),
    IsUneven = lists:max(Queues) >= 5 andalso lists:member(0, Queues),
    Sum = if IsUneven -> Uneven + Now - Last; true -> Uneven end,
    say(Sum),
    look_at_queues(Now, Sum).

%% A fixed number of rounds of work in each period, in one process.
work(Rounds, PeriodUs) ->
    Work = fun() -> [lists:sort(lists:seq(1, 3000)) || _ <- lists:seq(1, Rounds)] end,
    spawn(fun() -> each(now_us(), PeriodUs, Work, none) end).

on_first(Fun) -> spawn_opt(Fun, [{scheduler, 1}]).

now_us() -> erlang:monotonic_time(microsecond).

until(End, Fun) ->
    Fun(),
    now_us() < End andalso until(End, Fun).

%% Calls Fun once in each period. Prints the total time of the calls, unless Lost is none.
each(Due, PeriodUs, Fun, Lost) ->
    Wait = Due - now_us(),
    Wait > 0 andalso timer:sleep((Wait + 999) div 1000),
    Start = now_us(),
    Fun(),
    each(Due + PeriodUs, PeriodUs, Fun, add(Lost, now_us() - Start)).

add(none, _) -> none;
add(Lost, Took) ->
    say(Lost + Took),
    Lost + Took.

%% Another process prints, because a printing process waits for an answer in its own mailbox.
say(LostUs) ->
    Now = now_us(),
    case get(said) of
        Said when is_integer(Said), Now - Said < 100000 -> ok;
        _ ->
            put(said, Now),
            Line = [os:system_time(nanosecond), LostUs * 1000],
            spawn(io, format, ["{\"real_ns\":~b,\"lost_ns\":~b}~n", Line])
    end.
