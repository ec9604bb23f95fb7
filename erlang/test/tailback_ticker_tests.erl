-module(tailback_ticker_tests).

-include_lib("eunit/include/eunit.hrl").

ticks_come_in_order_with_none_left_out_test() ->
    Pid = start(2),
    timer:sleep(100),
    ok = tailback_ticker:stop(Pid),
    ?assertNot(is_process_alive(Pid)),
    Ticks = ticks(),
    ?assert(length(Ticks) > 2),
    ?assertEqual(lists:seq(1, length(Ticks)), [K || {K, _} <- Ticks]),
    [?assert(LateUs >= 0) || {_, LateUs} <- Ticks].

nothing_is_told_after_stop_test() ->
    Pid = start(1),
    timer:sleep(20),
    ok = tailback_ticker:stop(Pid),
    _ = ticks(),
    timer:sleep(20),
    ?assertEqual([], ticks()).

%% A ticker that was held up owes every tick, each late by its own due time.
a_stall_shows_in_every_tick_test() ->
    Pid = start(5),
    receive
        {tick, 1, _} -> ok
    end,
    true = erlang:suspend_process(Pid),
    timer:sleep(200),
    _ = ticks(),
    true = erlang:resume_process(Pid),
    timer:sleep(50),
    ok = tailback_ticker:stop(Pid),
    Late = [Tick || {_, LateUs} = Tick <- ticks(), LateUs > 100000],
    ?assert(length(Late) >= 10),
    [
        ?assert(LateUs1 < LateUs0)
     || {{_, LateUs0}, {_, LateUs1}} <- lists:zip(lists:droplast(Late), tl(Late))
    ].

a_long_stall_is_told_once_test() ->
    Pid = start(1),
    receive
        {tick, 1, _} -> ok
    end,
    true = erlang:suspend_process(Pid),
    timer:sleep(1300),
    _ = ticks(),
    true = erlang:resume_process(Pid),
    receive
        {ticks, First, Last, LateUs} ->
            ?assert(Last - First >= 1000),
            ?assert(LateUs >= 1000000)
    end,
    ok = tailback_ticker:stop(Pid),
    ?assert(length(ticks()) < 1000).

start(IntervalMs) ->
    Self = self(),
    tailback_ticker:start(IntervalMs, fun(Tick) -> Self ! Tick end).

ticks() ->
    receive
        {tick, K, LateUs} -> [{K, LateUs} | ticks()]
    after 0 -> []
    end.

a_module_and_function_can_be_told_test() ->
    Pid = tailback_ticker:start(1, {erlang, is_tuple}),
    timer:sleep(10),
    ?assert(is_process_alive(Pid)),
    ok = tailback_ticker:stop(Pid).

a_failing_hearer_ends_it_test() ->
    Pid = tailback_ticker:start(1, fun(_) -> error(deaf) end),
    Monitor = erlang:monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, Pid, _} -> ok
    end,
    ?assertEqual(ok, tailback_ticker:stop(Pid)).

a_priority_can_be_asked_for_test() ->
    [
        begin
            Pid = tailback_ticker:start(1, fun(_) -> ok end, Priority),
            ?assertEqual({priority, Priority}, process_info(Pid, priority)),
            ok = tailback_ticker:stop(Pid)
        end
     || Priority <- [normal, high, max]
    ],
    ?assertError(badarg, tailback_ticker:start(1, fun(_) -> ok end, urgent)).

bad_arguments_test_() ->
    [
        ?_assertError(badarg, tailback_ticker:start(Interval, Tell))
     || {Interval, Tell} <- [{0, fun(_) -> ok end}, {1.5, fun(_) -> ok end}, {10, nobody}]
    ].
