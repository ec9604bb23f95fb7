%% The server, the dam or a sender dies: callers get errors and do not hang, and no accepted
%% message is lost.
-module(tailback_dam_failure_tests).

-include_lib("eunit/include/eunit.hrl").

-import(tailback_dam_probe, [with/2, end_process/1, info/1, until/1, gates/1, sender/1, answer/1, fill/0]).

-define(DAM, dam_under_test).
%% The smallest useful dam: 4 messages in flight, a table of 8.
-define(SMALL, #{window => 4, bound => 8 + 2 * 4 + 2 + 24}).

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

a_held_up_sender_that_dies_takes_nothing_with_it_test_() ->
    {timeout, 300, fun a_held_up_sender_that_dies_takes_nothing_with_it/0}.

a_held_up_sender_that_dies_takes_nothing_with_it() ->
    with(?SMALL, fun(Seen, Server) ->
        Accepted = fill(),
        Held = [sender({held, I}) || I <- lists:seq(1, 20)],
        until(fun() -> info(waiting) =:= 20 end),
        [end_process(Pid) || Pid <- Held],
        tailback_dam_probe:open_gate(Server),
        [ok = tailback_dam:cast(?DAM, {later, I}) || I <- lists:seq(1, 100)],
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual(1 + Accepted + 20 + 100, length(tailback_dam_probe:seen(Seen))),
        ?assertEqual({0, 0}, {info(queued), info(waiting)})
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

stop_delivers_first_test_() ->
    {timeout, 300, fun stop_delivers_first/0}.

stop_delivers_first() ->
    with(#{}, fun(Seen, _) ->
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 500)],
        ?assertEqual({ok, #{undelivered => 0}}, tailback_dam:stop(?DAM)),
        ?assertEqual(500, length(tailback_dam_probe:seen(Seen)))
    end).
