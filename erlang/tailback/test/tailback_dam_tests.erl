-module(tailback_dam_tests).

-include_lib("eunit/include/eunit.hrl").

-import(tailback_dam_probe, [with/2, info/1, until/1, sender/1, answer/1, fill/0]).

-define(DAM, dam_under_test).
%% The smallest useful dam: 4 messages in flight, a table of 8.
-define(SMALL, #{window => 4, bound => 8 + 3 * 4 + 32}).
-define(CAPACITY, 8).

%% ---- the ordinary case

all_arrive_in_order_test_() ->
    {timeout, 300, fun all_arrive_in_order/0}.

all_arrive_in_order() ->
    with(#{}, fun(Seen, _) ->
        Numbers = lists:seq(1, 5000),
        [ok = tailback_dam:cast(?DAM, N) || N <- Numbers],
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual(Numbers, tailback_dam_probe:seen(Seen)),
        ?assertEqual(5000, info(delivered)),
        ?assertEqual(0, info(in_flight)),
        ?assertEqual(0, info(queued))
    end).

as_info_test_() ->
    {timeout, 300, fun as_info/0}.

as_info() ->
    with(#{as => info}, fun(Seen, _) ->
        ok = tailback_dam:deliver(?DAM, hello, 100000),
        ?assertEqual([{info, hello}], tailback_dam_probe:seen(Seen))
    end).

a_handle_serves_as_well_test_() ->
    {timeout, 300, fun a_handle_serves_as_well/0}.

a_handle_serves_as_well() ->
    with(#{}, fun(Seen, _) ->
        {ok, Handle} = tailback_dam:handle(?DAM),
        ok = tailback_dam:cast(Handle, one),
        ok = tailback_dam:flush(Handle, 100000),
        ?assertEqual([one], tailback_dam_probe:seen(Seen))
    end).

deliver_waits_for_the_server_test_() ->
    {timeout, 300, fun deliver_waits_for_the_server/0}.

deliver_waits_for_the_server() ->
    with(#{}, fun(Seen, Server) ->
        ok = tailback_dam:cast(?DAM, gate),
        ?assertEqual({error, timeout}, tailback_dam:deliver(?DAM, early, 100)),
        Test = self(),
        Pid = spawn(fun() -> Test ! {self(), tailback_dam:deliver(?DAM, late)} end),
        tailback_dam_probe:open_gate(Server),
        ?assertEqual(ok, answer(Pid)),
        ?assert(lists:member(late, tailback_dam_probe:seen(Seen)))
    end).

%% ---- no room

senders_are_held_up_and_no_more_than_the_bound_is_accepted_test_() ->
    {timeout, 300, fun senders_are_held_up_and_no_more_than_the_bound_is_accepted/0}.

senders_are_held_up_and_no_more_than_the_bound_is_accepted() ->
    with(?SMALL, fun(Seen, Server) ->
        Accepted = fill(),
        ?assertEqual({error, timeout}, tailback_dam:cast(?DAM, too_many, 20)),
        Held = [sender({held, I}) || I <- lists:seq(1, 50)],
        until(fun() -> info(waiting) =:= 50 end),
        tailback_dam_probe:open_gate(Server),
        [?assertEqual(ok, answer(Pid)) || Pid <- Held],
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual(1 + Accepted + 50, length(tailback_dam_probe:seen(Seen))),
        ?assert(info(longest_wait_us) > 0)
    end).

a_message_that_timed_out_never_arrives_test_() ->
    {timeout, 300, fun a_message_that_timed_out_never_arrives/0}.

a_message_that_timed_out_never_arrives() ->
    with(?SMALL, fun(Seen, Server) ->
        _ = fill(),
        ?assertEqual({error, timeout}, tailback_dam:cast(?DAM, too_late, 20)),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertNot(lists:member(too_late, tailback_dam_probe:seen(Seen)))
    end).

%% A caller may have computed the limit from a deadline that is over.
what_is_no_time_limit_fails_and_leaves_nothing_test_() ->
    {timeout, 300, fun what_is_no_time_limit_fails_and_leaves_nothing/0}.

what_is_no_time_limit_fails_and_leaves_nothing() ->
    with(?SMALL, fun(Seen, Server) ->
        Accepted = fill(),
        Calls = [
            fun(Limit) -> tailback_dam:cast(?DAM, never, Limit) end,
            fun(Limit) -> tailback_dam:urgent(?DAM, never, Limit) end,
            fun(Limit) -> tailback_dam:deliver(?DAM, never, Limit) end,
            fun(Limit) -> tailback_dam:flush(?DAM, Limit) end,
            fun(Limit) -> tailback_dam:stop(?DAM, Limit) end
        ],
        [?assertError(function_clause, Call(L)) || Call <- Calls, L <- [-1, 1.5, 1 bsl 32, soon]],
        ?assertEqual({open, 0}, {info(state), info(waiting)}),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        ?assertEqual([gate | lists:seq(1, Accepted)], tailback_dam_probe:seen(Seen))
    end).

drop_new_counts_what_it_drops_test_() ->
    {timeout, 300, fun drop_new_counts_what_it_drops/0}.

drop_new_counts_what_it_drops() ->
    with(?SMALL#{policy => drop_new}, fun(Seen, Server) ->
        ok = tailback_dam:cast(?DAM, gate),
        until(fun() -> info(in_flight) > 0 end),
        Answers = [tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 100)],
        Dropped = length([x || {error, dropped} <- Answers]),
        ?assert(Dropped >= 100 - ?CAPACITY - 4),
        ?assertEqual(Dropped, info(dropped_new)),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        Taken = [N || {N, ok} <- lists:zip(lists:seq(1, 100), Answers)],
        ?assertEqual([gate | Taken], tailback_dam_probe:seen(Seen))
    end).

drop_old_counts_what_it_drops_and_keeps_the_newest_test_() ->
    {timeout, 300, fun drop_old_counts_what_it_drops_and_keeps_the_newest/0}.

drop_old_counts_what_it_drops_and_keeps_the_newest() ->
    with(?SMALL#{policy => drop_old}, fun(Seen, Server) ->
        ok = tailback_dam:cast(?DAM, gate),
        until(fun() -> info(in_flight) > 0 end),
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 100)],
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        [gate | Kept] = tailback_dam_probe:seen(Seen),
        ?assertEqual(100, length(Kept) + info(dropped_old)),
        ?assert(info(dropped_old) >= 100 - ?CAPACITY - 4),
        ?assertEqual(Kept, lists:usort(Kept)),
        ?assertEqual(lists:seq(101 - ?CAPACITY, 100), lists:nthtail(length(Kept) - ?CAPACITY, Kept))
    end).

drop_old_bounds_urgent_messages_too_test_() ->
    {timeout, 300, fun drop_old_bounds_urgent_messages_too/0}.

drop_old_bounds_urgent_messages_too() ->
    with(?SMALL#{policy => drop_old}, fun(Seen, Server) ->
        _ = fill(),
        [ok = tailback_dam:urgent(?DAM, {urgent, N}) || N <- lists:seq(1, 100)],
        {ok, Handle} = tailback_dam:handle(?DAM),
        ?assertEqual(?CAPACITY, tailback_dam_queue:size(Handle)),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        Urgent = [N || {urgent, N} <- tailback_dam_probe:seen(Seen)],
        ?assertEqual(lists:seq(101 - ?CAPACITY, 100), Urgent)
    end).

a_flush_is_not_dropped_test_() ->
    {timeout, 300, fun a_flush_is_not_dropped/0}.

a_flush_is_not_dropped() ->
    with((?SMALL)#{policy => drop_old}, fun(_, Server) ->
        _ = fill(),
        Test = self(),
        Pid = spawn(fun() -> Test ! {self(), tailback_dam:flush(?DAM)} end),
        {ok, Handle} = tailback_dam:handle(?DAM),
        until(fun() -> tailback_dam_queue:size(Handle) > ?CAPACITY end),
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(21, 100)],
        tailback_dam_probe:open_gate(Server),
        ?assertEqual(ok, answer(Pid)),
        ?assert(info(dropped_old) > 0)
    end).

urgent_goes_ahead_test_() ->
    {timeout, 300, fun urgent_goes_ahead/0}.

urgent_goes_ahead() ->
    with(?SMALL, fun(Seen, Server) ->
        Accepted = fill(),
        Test = self(),
        Pid = spawn(fun() -> Test ! {self(), tailback_dam:urgent(?DAM, fire)} end),
        until(fun() -> info(waiting) =:= 1 end),
        tailback_dam_probe:open_gate(Server),
        ?assertEqual(ok, answer(Pid)),
        ok = tailback_dam:flush(?DAM, 100000),
        {Before, [fire | After]} = lists:splitwith(
            fun(M) -> M =/= fire end, tailback_dam_probe:seen(Seen)
        ),
        %% Only what was already in flight is ahead: the gate and three more.
        ?assert(length(Before) =< 4),
        ?assertEqual(Accepted + 1, length(Before) + length(After))
    end).

%% If the VM has priority messages, an urgent one also overtakes what is in the server's mailbox.
urgent_overtakes_in_the_mailbox_where_it_can_test_() ->
    {timeout, 300, fun urgent_overtakes_in_the_mailbox_where_it_can/0}.

urgent_overtakes_in_the_mailbox_where_it_can() ->
    with(?SMALL, fun(Seen, Server) ->
        Can = gen_server:call(Server, {accept_urgent, ?DAM}),
        Supported = list_to_integer(erlang:system_info(otp_release)) >= 28,
        ?assertEqual(Supported, Can =:= ok),
        [ok = tailback_dam:cast(?DAM, M) || M <- [gate, {slow, 300}, {slow, 300}, {slow, 1}]],
        until(fun() -> info(in_flight) =:= 4 end),
        ok = tailback_dam:cast(?DAM, behind),
        ok = tailback_dam:urgent(?DAM, fire),
        tailback_dam_probe:open_gate(Server),
        ok = tailback_dam:flush(?DAM, 100000),
        All = tailback_dam_probe:seen(Seen),
        Expected =
            case Can of
                ok -> [gate, {slow, 300}, fire, {slow, 300}, {slow, 1}, behind];
                unsupported -> [gate, {slow, 300}, {slow, 300}, {slow, 1}, fire, behind]
            end,
        ?assertEqual(Expected, All)
    end).

%% ---- a server that does not handle its messages

a_suspended_server_is_not_flooded_test_() ->
    {timeout, 300, fun a_suspended_server_is_not_flooded/0}.

a_suspended_server_is_not_flooded() ->
    with(#{}, fun(Seen, Server) ->
        ok = sys:suspend(Server),
        Held = [sender(I) || I <- lists:seq(1, 3000)],
        until(fun() -> info(waiting) > 0 andalso info(holds) > 0 end),
        timer:sleep(50),
        {message_queue_len, Length} = process_info(Server, message_queue_len),
        ?assert(Length + info(dam_mailbox) + info(queued) =< 1000),
        ?assert(Length =< 3 * 64 + 8),
        ok = sys:resume(Server),
        [?assertEqual(ok, answer(Pid)) || Pid <- Held],
        until(fun() -> length(tailback_dam_probe:seen(Seen)) =:= 3000 end)
    end).

a_server_that_others_flood_still_gets_its_messages_test_() ->
    {timeout, 300, fun a_server_that_others_flood_still_gets_its_messages/0}.

%% Each call takes the server a millisecond, so nearly all callers wait in its mailbox.
a_server_that_others_flood_still_gets_its_messages() ->
    with(?SMALL, fun(Seen, Server) ->
        Callers = [spawn(fun() -> call_again(Server) end) || _ <- lists:seq(1, 40)],
        until(fun() -> process_info(Server, message_queue_len) > {message_queue_len, 30} end),
        [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(1, 20)],
        ?assertEqual(ok, tailback_dam:flush(?DAM, 100000)),
        ?assertEqual(lists:seq(1, 20), tailback_dam_probe:seen(Seen)),
        ?assert(info(holds) > 0),
        [tailback_dam_probe:end_process(Pid) || Pid <- Callers]
    end).

call_again(Server) ->
    try gen_server:call(Server, {slow, 1}, infinity) of
        ok -> call_again(Server)
    catch
        exit:_ -> ok
    end.

%% ---- starting

%% At most three windows and seven messages are in the mailbox of a suspended server, and beside
%% them markers and a few others.
the_bound_has_room_for_a_suspended_server_test_() ->
    [
        {integer_to_list(Window), fun() ->
            Least = 3 * Window + 32 + 1,
            Check = fun(Bound) ->
                tailback_dam_options:check(#{window => Window, bound => Bound})
            end,
            {ok, #{capacity := Capacity}} = Check(Least),
            ?assertEqual(1, Capacity),
            ?assert(Capacity + 3 * Window + 7 + 24 =< Least),
            ?assertMatch({error, _}, Check(Least - 1))
        end}
     || Window <- [4, 5, 64, 10000]
    ].

the_usual_dam_has_room_for_776_test() ->
    ?assertMatch({ok, #{bound := 1000, capacity := 776}}, tailback_dam_options:check(#{})).

options_are_checked_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Options])), fun() ->
            {error, {bad_option, Line}} = tailback_dam:start_link(?DAM, probe, Options),
            ?assertNotEqual(nomatch, binary:match(Line, atom_to_binary(hd(maps:keys(Options))))),
            ?assertEqual(nomatch, binary:match(Line, <<"\n">>)),
            ?assertEqual(undefined, whereis(?DAM))
        end}
     || Options <- [
            #{bound => 0},
            #{bound => 20},
            #{bound => many},
            #{window => 3},
            #{policy => drop},
            #{as => call},
            #{gone_after => -1},
            #{attempts => 0},
            #{colour => red}
        ]
    ].

a_taken_name_is_refused_test_() ->
    {timeout, 300, fun a_taken_name_is_refused/0}.

a_taken_name_is_refused() ->
    Table = ets:new(?DAM, [named_table]),
    ?assertMatch({error, {name_taken, _}}, tailback_dam:start_link(?DAM, probe)),
    ets:delete(Table),
    with(#{}, fun(_, _) ->
        ?assertEqual(
            {error, {already_started, whereis(?DAM)}}, tailback_dam:start_link(?DAM, probe)
        )
    end).

every_reason_has_its_line_test_() ->
    {timeout, 300, fun every_reason_has_its_line/0}.

every_reason_has_its_line() ->
    Reasons = [no_dam, dam_down, server_gone, closing, dropped, timeout, poisoned],
    Lines = [tailback_dam:explain(Reason) || Reason <- Reasons],
    ?assertEqual(length(Reasons), length(lists:usort(Lines))).

%% The sender that waits longest is served first, even while others come.
held_up_senders_are_served_in_the_order_of_their_coming_test_() ->
    {timeout, 300, fun held_up_senders_are_served_in_the_order_of_their_coming/0}.

held_up_senders_are_served_in_the_order_of_their_coming() ->
    with(?SMALL, fun(Seen, Server) ->
        _ = fill(),
        Held = [held_in_turn(I) || I <- lists:seq(1, 30)],
        tailback_dam_probe:open_gate(Server),
        [?assertEqual(ok, answer(Pid)) || Pid <- Held],
        ok = tailback_dam:flush(?DAM, 100000),
        Order = [I || {held, I} <- tailback_dam_probe:seen(Seen)],
        ?assertEqual(lists:seq(1, 30), Order)
    end).

held_in_turn(I) ->
    Pid = sender({held, I}),
    until(fun() -> info(waiting) =:= I end),
    Pid.
