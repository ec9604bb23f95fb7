%% The server, the dam or a sender dies: callers get errors and do not hang, and no accepted
%% message is lost.
-module(tailback_dam_failure_tests).

-include_lib("eunit/include/eunit.hrl").

-export([whereis_name/1]).

-import(tailback_dam_probe, [with/2, end_process/1, info/1, until/1, gates/1]).
-import(tailback_dam_probe, [sender/1, answer/1, fill/0]).

-define(DAM, dam_under_test).
%% The smallest useful dam: 4 messages in flight, a table of 8.
-define(SMALL, #{window => 4, bound => 8 + 3 * 4 + 32}).

%% ---- the server dies

what_was_accepted_survives_the_server_test_() ->
    {timeout, 300, fun what_was_accepted_survives_the_server/0}.

what_was_accepted_survives_the_server() ->
    with(?SMALL, fun(Seen, _) ->
        Accepted = fill(),
        ok = tailback_dam_probe:kill(probe),
        %% The gate comes again, since it was never confirmed.
        Again = tailback_dam_probe:start(Seen),
        until(fun() -> gates(Seen) =:= 2 end),
        tailback_dam_probe:open_gate(Again),
        ok = tailback_dam:flush(?DAM, 100000),
        Numbers = [N || N <- tailback_dam_probe:seen(Seen), is_integer(N)],
        ?assertEqual(lists:seq(1, Accepted), Numbers),
        ?assertEqual(1, info(restarts)),
        ?assert(info(redelivered) >= 1)
    end).

what_was_not_dealt_with_is_not_confirmed_test_() ->
    {timeout, 300, fun what_was_not_dealt_with_is_not_confirmed/0}.

what_was_not_dealt_with_is_not_confirmed() ->
    with(?SMALL, fun(Seen, _) ->
        ok = tailback_dam:cast(?DAM, before),
        until(fun() -> info(delivered) =:= 1 end),
        [ok = tailback_dam:cast(?DAM, M) || M <- [gate, behind]],
        until(fun() -> info(in_flight) =:= 2 andalso gates(Seen) =:= 1 end),
        timer:sleep(20),
        ?assertEqual({1, 2}, {info(delivered), info(in_flight)}),
        ok = tailback_dam_probe:kill(probe),
        Again = tailback_dam_probe:start(Seen),
        until(fun() -> gates(Seen) =:= 2 end),
        tailback_dam_probe:open_gate(Again),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual([before, gate, gate, behind], tailback_dam_probe:seen(Seen))
    end).

a_gone_server_is_an_error_and_no_hang_test_() ->
    {timeout, 300, fun a_gone_server_is_an_error_and_no_hang/0}.

a_gone_server_is_an_error_and_no_hang() ->
    with((?SMALL)#{gone_after => 50}, fun(Seen, _) ->
        Accepted = fill(),
        Held = [sender({held, I}) || I <- lists:seq(1, 10)],
        until(fun() -> info(waiting) =:= 10 end),
        ok = tailback_dam_probe:kill(probe),
        [?assertEqual({error, server_gone}, answer(Pid)) || Pid <- Held],
        ?assertEqual({error, server_gone}, tailback_dam:cast(?DAM, more)),
        ?assertEqual({error, server_gone}, tailback_dam:deliver(?DAM, more)),
        ?assertEqual({error, server_gone}, tailback_dam:flush(?DAM)),
        %% Accepted messages are kept for the next server.
        Server = tailback_dam_probe:start(Seen),
        up = tailback_dam:connect(?DAM),
        until(fun() -> gates(Seen) =:= 2 end),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        Numbers = [N || N <- tailback_dam_probe:seen(Seen), is_integer(N)],
        ?assertEqual(lists:seq(1, Accepted), Numbers),
        ?assertEqual(ok, tailback_dam:cast(?DAM, more))
    end).

who_waits_for_a_message_in_flight_learns_that_the_server_is_gone_test_() ->
    {timeout, 300, fun who_waits_for_a_message_in_flight_learns_that_the_server_is_gone/0}.

who_waits_for_a_message_in_flight_learns_that_the_server_is_gone() ->
    with((?SMALL)#{gone_after => 50}, fun(Seen, _) ->
        ok = tailback_dam:cast(?DAM, gate),
        until(fun() -> gates(Seen) =:= 1 end),
        %% In flight behind the gate.
        Own = self(),
        Deliver = spawn_link(fun() -> Own ! {self(), tailback_dam:deliver(?DAM, 1)} end),
        Flush = spawn_link(fun() -> Own ! {self(), tailback_dam:flush(?DAM)} end),
        until(fun() -> info(in_flight) =:= 3 end),
        ok = tailback_dam_probe:kill(probe),
        [?assertEqual({error, server_gone}, answer(Pid)) || Pid <- [Deliver, Flush]],
        ?assertEqual(2, info(rejected)),
        %% The message still comes.
        Server = tailback_dam_probe:start(Seen),
        up = tailback_dam:connect(?DAM),
        until(fun() -> gates(Seen) =:= 2 end),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual([gate, gate, 1], tailback_dam_probe:seen(Seen))
    end).

a_message_that_kills_is_given_up_test_() ->
    {timeout, 300, fun a_message_that_kills_is_given_up/0}.

a_message_that_kills_is_given_up() ->
    Level = maps:get(level, logger:get_primary_config()),
    ok = logger:set_primary_config(level, none),
    try
        with(#{attempts => 3}, fun(Seen, _) ->
            Keeper = spawn_link(fun() -> restart(Seen) end),
            ok = tailback_dam:cast(?DAM, before),
            ok = tailback_dam:cast(?DAM, poison),
            [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 100)],
            ok = tailback_dam:flush(?DAM, 100000),
            unlink(Keeper),
            exit(Keeper, kill),
            ?assertEqual(1, info(poisoned)),
            ?assertEqual([before | lists:seq(1, 100)], order(tailback_dam_probe:seen(Seen)))
        end)
    after
        logger:set_primary_config(level, Level)
    end.

a_message_that_stops_the_server_is_given_up_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Reason])),
            {timeout, 300, fun() -> a_message_that_stops_the_server_is_given_up(Reason) end}}
     || Reason <- [normal, {shutdown, test}]
    ].

a_message_that_stops_the_server_is_given_up(Reason) ->
    with(#{gone_after => infinity}, fun(Seen, _) ->
        Keeper = spawn_link(fun() -> restart(Seen) end),
        ok = tailback_dam:cast(?DAM, {stop, Reason}),
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 10)],
        ?assertEqual(ok, tailback_dam:flush(?DAM, 100000)),
        end_process(Keeper),
        ?assertEqual(1, info(poisoned)),
        ?assertEqual(lists:seq(1, 10), order(tailback_dam_probe:seen(Seen)))
    end).

a_server_that_fails_in_its_init_counts_against_no_message_test_() ->
    {timeout, 300, fun a_server_that_fails_in_its_init_counts_against_no_message/0}.

a_server_that_fails_in_its_init_counts_against_no_message() ->
    with(#{attempts => 3, gone_after => infinity}, fun(Seen, _) ->
        ok = tailback_dam_probe:kill(probe),
        until(fun() -> tailback_dam:connect(?DAM) =:= down end),
        ok = tailback_dam:cast(?DAM, 1),
        [fail_in_init() || _ <- lists:seq(1, 4)],
        _ = tailback_dam_probe:start(Seen),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual({[1], 0}, {tailback_dam_probe:seen(Seen), info(poisoned)})
    end).

a_server_whose_init_throws_messages_away_gets_its_messages_test_() ->
    {timeout, 300, fun a_server_whose_init_throws_messages_away_gets_its_messages/0}.

a_server_whose_init_throws_messages_away_gets_its_messages() ->
    with(#{gone_after => infinity}, fun(Seen, _) ->
        ok = tailback_dam_probe:kill(probe),
        Test = self(),
        proc_lib:spawn(fun() ->
            true = register(probe, self()),
            %% The marker of the dam, which a server may throw away while it starts.
            receive
                {system, _, _} -> Test ! thrown_away
            end,
            gen_server:enter_loop(tailback_dam_probe, [], Seen)
        end),
        receive
            thrown_away -> ok
        end,
        ok = tailback_dam:cast(?DAM, a),
        ?assertEqual(ok, tailback_dam:flush(?DAM, 100000)),
        ?assertEqual([a], tailback_dam_probe:seen(Seen))
    end).

a_server_that_stays_in_its_init_is_an_error_and_no_hang_test_() ->
    {timeout, 300, fun a_server_that_stays_in_its_init_is_an_error_and_no_hang/0}.

a_server_that_stays_in_its_init_is_an_error_and_no_hang() ->
    with((?SMALL)#{gone_after => 50}, fun(Seen, _) ->
        ok = tailback_dam_probe:kill(probe),
        Test = self(),
        Stays = proc_lib:spawn(fun() ->
            true = register(probe, self()),
            Test ! registered,
            receive
                on -> gen_server:enter_loop(tailback_dam_probe, [], Seen)
            end
        end),
        receive
            registered -> ok
        end,
        ?assertEqual({error, server_gone}, tailback_dam:deliver(?DAM, a)),
        Stays ! on,
        until(fun() -> tailback_dam:cast(?DAM, b) =:= ok end),
        ?assertEqual(ok, tailback_dam:flush(?DAM, 100000))
    end).

a_registry_that_is_away_loses_no_message_test_() ->
    {timeout, 300, fun a_registry_that_is_away_loses_no_message/0}.

a_registry_that_is_away_loses_no_message() ->
    Seen = tailback_dam_probe:new(),
    Options = #{gone_after => infinity},
    {ok, Dam} = tailback_dam:start_link(?DAM, {via, ?MODULE, probe}, Options),
    try
        ok = tailback_dam:cast(?DAM, 1),
        ?assertEqual(down, tailback_dam:connect(?DAM)),
        _ = tailback_dam_probe:start(Seen),
        ok = tailback_dam:flush(?DAM, 100000),
        ok = tailback_dam_probe:kill(probe),
        until(fun() -> tailback_dam:connect(?DAM) =:= down end),
        ok = tailback_dam:cast(?DAM, 2),
        _ = tailback_dam_probe:start(Seen),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual([1, 2], tailback_dam_probe:seen(Seen)),
        ?assertEqual(Dam, whereis(?DAM))
    after
        end_process(Dam),
        end_process(whereis(probe)),
        ets:delete(Seen)
    end.

%% A registry that raises while it has no server.
whereis_name(Name) ->
    case whereis(Name) of
        undefined -> error(badarg);
        Pid -> Pid
    end.

%% Has the name of the server, as a gen_server in its init, and fails.
fail_in_init() ->
    Test = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        true = register(probe, self()),
        Test ! {self(), registered},
        receive
            fail -> exit(init_failed)
        end
    end),
    receive
        {Pid, registered} -> ok
    end,
    ?assertEqual(up, tailback_dam:connect(?DAM)),
    Pid ! fail,
    receive
        {'DOWN', Monitor, process, _, init_failed} -> ok
    end,
    until(fun() -> tailback_dam:connect(?DAM) =:= down end).

%% A pid of a node that does not run.
a_server_that_is_out_of_reach_is_gone_test_() ->
    {timeout, 300, fun a_server_that_is_out_of_reach_is_gone/0}.

a_server_that_is_out_of_reach_is_gone() ->
    Pid = binary_to_term(<<131, 88, 119, 11, "gone@nohost", 100:32, 0:32, 7:32>>),
    {ok, Dam} = tailback_dam:start_link(?DAM, Pid, #{gone_after => 50}),
    try
        until(fun() -> info(state) =:= gone end),
        ?assertEqual({error, server_gone}, tailback_dam:cast(?DAM, x)),
        ?assertEqual({error, server_gone}, tailback_dam:flush(?DAM))
    after
        end_process(Dam)
    end.

%% However often somebody asks, there is one try every 10 ms, beside a tick every 100 ms.
asking_for_the_server_starts_no_more_timers_test_() ->
    {timeout, 300, fun asking_for_the_server_starts_no_more_timers/0}.

asking_for_the_server_starts_no_more_timers() ->
    {ok, Dam} = tailback_dam:start_link(?DAM, no_such_server, #{gone_after => infinity}),
    try
        [down = tailback_dam:connect(?DAM) || _ <- lists:seq(1, 100)],
        Start = erlang:monotonic_time(millisecond),
        1 = erlang:trace(Dam, true, ['receive']),
        timer:sleep(100),
        1 = erlang:trace(Dam, false, ['receive']),
        Ms = erlang:monotonic_time(millisecond) - Start,
        Delivered = erlang:trace_delivered(Dam),
        receive
            {trace_delivered, Dam, Delivered} -> ok
        end,
        ?assert(received(Dam) =< Ms div 10 + Ms div 100 + 5)
    after
        end_process(Dam)
    end.

received(Dam) ->
    receive
        {trace, Dam, 'receive', _} -> 1 + received(Dam)
    after 0 -> 0
    end.

%% Keeps the first arrival of each message.
order([]) -> [];
order([M | Rest]) -> [M | order([R || R <- Rest, R =/= M])].

restart(Seen) ->
    case whereis(probe) of
        undefined -> tailback_dam_probe:start(Seen);
        _ -> ok
    end,
    timer:sleep(2),
    restart(Seen).

%% ---- the dam dies, or is not there

no_dam_test_() ->
    {timeout, 300, fun no_dam/0}.

no_dam() ->
    ?assertEqual({error, no_dam}, tailback_dam:cast(no_such_dam, x)),
    ?assertEqual({error, no_dam}, tailback_dam:deliver(no_such_dam, x)),
    ?assertEqual({error, no_dam}, tailback_dam:flush(no_such_dam)),
    ?assertEqual({error, no_dam}, tailback_dam:info(no_such_dam)),
    ?assertEqual({error, no_dam}, tailback_dam:handle(no_such_dam)),
    ?assertEqual({error, no_dam}, tailback_dam:stop(no_such_dam)),
    ?assertEqual({error, no_dam}, tailback_dam:connect(no_such_dam)).

a_dam_that_dies_is_an_error_to_those_who_wait_test_() ->
    {timeout, 300, fun a_dam_that_dies_is_an_error_to_those_who_wait/0}.

a_dam_that_dies_is_an_error_to_those_who_wait() ->
    with(?SMALL, fun(_, _) ->
        _ = fill(),
        {ok, Handle} = tailback_dam:handle(?DAM),
        Held = [sender({held, I}) || I <- lists:seq(1, 10)],
        until(fun() -> info(waiting) =:= 10 end),
        end_process(whereis(?DAM)),
        [?assertEqual({error, dam_down}, answer(Pid)) || Pid <- Held],
        ?assertEqual({error, no_dam}, tailback_dam:cast(?DAM, x)),
        ?assertEqual({error, no_dam}, tailback_dam:cast(Handle, x))
    end).

a_held_up_sender_that_dies_leaves_nothing_and_takes_nothing_with_it_test_() ->
    {timeout, 300, fun a_held_up_sender_that_dies_leaves_nothing_and_takes_nothing_with_it/0}.

a_held_up_sender_that_dies_leaves_nothing_and_takes_nothing_with_it() ->
    with(?SMALL, fun(Seen, Server) ->
        Accepted = fill(),
        Held = [sender({held, I}) || I <- lists:seq(1, 20)],
        Alive = sender(alive),
        until(fun() -> waiters() =:= 21 end),
        [end_process(Pid) || Pid <- Held],
        %% The server stands still, and yet their rows go.
        until(fun() -> info(waiting) =:= 1 end),
        tailback_dam_probe:open_gate(Server),
        ?assertEqual(ok, answer(Alive)),
        [ok = tailback_dam:cast(?DAM, {later, I}) || I <- lists:seq(1, 100)],
        ok = tailback_dam:flush(?DAM, 100000),
        Expected =
            [gate | lists:seq(1, Accepted)] ++ [alive] ++ [{later, I} || I <- lists:seq(1, 100)],
        ?assertEqual(Expected, tailback_dam_probe:seen(Seen)),
        ?assertEqual({0, 0}, {info(queued), info(waiting)})
    end).

%% Rows whose senders wait until the dam has taken them.
waiters() -> ets:select_count(?DAM, [{{'_', {accept, '_', '_'}, '_'}, [], [true]}]).

a_handle_reaches_no_later_dam_test_() ->
    {timeout, 300, fun a_handle_reaches_no_later_dam/0}.

a_handle_reaches_no_later_dam() ->
    with(?SMALL, fun(Seen, _) ->
        {ok, Handle} = tailback_dam:handle(?DAM),
        end_process(whereis(?DAM)),
        {ok, Later} = tailback_dam:start_link(?DAM, probe, ?SMALL),
        try
            ?assertEqual({error, no_dam}, tailback_dam:cast(Handle, x)),
            ?assertEqual({error, no_dam}, tailback_dam:urgent(Handle, x)),
            ?assertEqual({error, no_dam}, tailback_dam:deliver(Handle, x, 100000)),
            ?assertEqual({error, no_dam}, tailback_dam:flush(Handle, 100000)),
            ?assertEqual({error, no_dam}, tailback_dam:info(Handle)),
            ok = tailback_dam:deliver(?DAM, y, 100000),
            ?assertEqual([y], tailback_dam_probe:seen(Seen))
        after
            end_process(Later)
        end
    end).

a_handle_of_a_stopped_dam_does_not_stay_closing_test_() ->
    {timeout, 300, fun a_handle_of_a_stopped_dam_does_not_stay_closing/0}.

a_handle_of_a_stopped_dam_does_not_stay_closing() ->
    with(#{}, fun(_, _) ->
        {ok, Handle} = tailback_dam:handle(?DAM),
        {ok, _} = tailback_dam:stop(?DAM),
        until(fun() -> tailback_dam:cast(Handle, x) =:= {error, no_dam} end)
    end).

nothing_is_left_in_the_senders_mailbox_test_() ->
    {timeout, 300, fun nothing_is_left_in_the_senders_mailbox/0}.

nothing_is_left_in_the_senders_mailbox() ->
    ok = forget(),
    with(?SMALL, fun(_, Server) ->
        _ = fill(),
        {error, timeout} = tailback_dam:cast(?DAM, x, 10),
        {error, timeout} = tailback_dam:deliver(?DAM, x, 10),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        receive
            Left -> ?assertEqual(nothing, Left)
        after 50 -> ok
        end
    end).

%% Drops messages that earlier tests left in the mailbox.
forget() ->
    receive
        _ -> forget()
    after 0 -> ok
    end.

stop_says_what_it_could_not_deliver_test_() ->
    {timeout, 300, fun stop_says_what_it_could_not_deliver/0}.

stop_says_what_it_could_not_deliver() ->
    with(?SMALL, fun(_, _) ->
        Accepted = fill(),
        %% The numbered messages and the gate. The flush has timed out and has taken its row back.
        {ok, #{undelivered := Left}} = tailback_dam:stop(?DAM, 100),
        ?assertEqual(Accepted + 1, Left),
        ?assertEqual({error, no_dam}, tailback_dam:cast(?DAM, x))
    end).

stop_counts_messages_alone_test_() ->
    {timeout, 300, fun stop_counts_messages_alone/0}.

stop_counts_messages_alone() ->
    with(?SMALL, fun(_, _) ->
        ok = tailback_dam:cast(?DAM, gate),
        until(fun() -> info(in_flight) =:= 1 end),
        %% The dam has taken the row of the flush too. It is no message.
        ?assertEqual({ok, #{undelivered => 1}}, tailback_dam:stop(?DAM, 100))
    end).

%% A dam of the same name can be started at once.
stop_returns_when_the_dam_has_ended_test_() ->
    {timeout, 300, fun stop_returns_when_the_dam_has_ended/0}.

stop_returns_when_the_dam_has_ended() ->
    with(#{}, fun(_, _) ->
        try
            [stop_and_start() || _ <- lists:seq(1, 300)]
        after
            end_process(whereis(?DAM))
        end
    end).

stop_and_start() ->
    ?assertEqual({ok, #{undelivered => 0}}, tailback_dam:stop(?DAM)),
    ?assertMatch({ok, _}, tailback_dam:start_link(?DAM, probe)).

stop_delivers_first_test_() ->
    {timeout, 300, fun stop_delivers_first/0}.

stop_delivers_first() ->
    with(#{}, fun(Seen, _) ->
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 500)],
        ?assertEqual({ok, #{undelivered => 0}}, tailback_dam:stop(?DAM)),
        ?assertEqual(500, length(tailback_dam_probe:seen(Seen)))
    end).
