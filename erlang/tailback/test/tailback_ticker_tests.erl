-module(tailback_ticker_tests).

-include_lib("eunit/include/eunit.hrl").

ticks_come_in_order_with_none_left_out_test_() ->
    {timeout, 300, fun ticks_come_in_order_with_none_left_out/0}.

%% The interval is so long that a stall of the machine leaves less than 1000 ticks due, which would
%% be told in one message.
ticks_come_in_order_with_none_left_out() ->
    Pid = start(10),
    First = [receive {tick, _, _} = Tick -> Tick end || _ <- lists:seq(1, 10)],
    ok = tailback_ticker:stop(Pid),
    ?assertNot(is_process_alive(Pid)),
    Ticks = [{K, LateUs} || {tick, K, LateUs} <- First] ++ ticks(),
    ?assertEqual(lists:seq(1, length(Ticks)), [K || {K, _} <- Ticks]),
    [?assert(LateUs >= 0) || {_, LateUs} <- Ticks].

nothing_is_told_after_stop_test_() ->
    {timeout, 300, fun nothing_is_told_after_stop/0}.

nothing_is_told_after_stop() ->
    Pid = start(1),
    timer:sleep(20),
    ok = tailback_ticker:stop(Pid),
    _ = ticks(),
    timer:sleep(20),
    ?assertEqual([], ticks()).

%% After a stall the ticker reports every tick, each late by its own due time.
a_stall_shows_in_every_tick_test_() ->
    {timeout, 300, fun a_stall_shows_in_every_tick/0}.

a_stall_shows_in_every_tick() ->
    Pid = start(5),
    receive
        {tick, 1, _} -> ok
    end,
    true = erlang:suspend_process(Pid),
    timer:sleep(200),
    _ = ticks(),
    true = erlang:resume_process(Pid),
    {First, Most} = receive {tick, K, LateUs} -> {K, LateUs} end,
    ?assert(Most > 100000),
    Last = next_until(First + 1, Most - 50000),
    ok = tailback_ticker:stop(Pid),
    ?assert(Last - First >= 10).

%% The number of the first tick that is less late than `LateUs'. No tick before it may be missing.
next_until(Next, LateUs) ->
    receive
        {tick, K, Us} when Us < LateUs -> ?assertEqual(Next, K), K;
        {tick, K, _} -> ?assertEqual(Next, K), next_until(Next + 1, LateUs)
    end.

a_long_stall_is_told_once_test_() ->
    {timeout, 300, fun a_long_stall_is_told_once/0}.

a_long_stall_is_told_once() ->
    Pid = start(1),
    receive
        {tick, 1, _} -> ok;
        %% The machine itself may have delayed the ticker by a second before this.
        {ticks, 1, _, _} -> ok
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

a_module_and_function_can_be_told_test_() ->
    {timeout, 300, fun a_module_and_function_can_be_told/0}.

a_module_and_function_can_be_told() ->
    Pid = tailback_ticker:start(1, {erlang, is_tuple}),
    timer:sleep(10),
    ?assert(is_process_alive(Pid)),
    ok = tailback_ticker:stop(Pid).

a_failing_hearer_ends_it_test_() ->
    {timeout, 300, fun a_failing_hearer_ends_it/0}.

a_failing_hearer_ends_it() ->
    Pid = tailback_ticker:start(1, fun(_) -> error(deaf) end),
    Monitor = erlang:monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, Pid, _} -> ok
    end,
    ?assertEqual(ok, tailback_ticker:stop(Pid)).

a_priority_can_be_asked_for_test_() ->
    {timeout, 300, fun a_priority_can_be_asked_for/0}.

a_priority_can_be_asked_for() ->
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
