%% What a sender does at its time limit, and while the dam stops. The test itself plays the dam.
-module(tailback_dam_sender_tests).

-include_lib("eunit/include/eunit.hrl").

-define(DAM, played_dam).
-define(LIMIT_MS, 200).

a_sender_that_is_rejected_at_its_time_limit_gets_the_error_test_() ->
    {timeout, 300, fun a_sender_that_is_rejected_at_its_time_limit_gets_the_error/0}.

a_sender_that_is_rejected_at_its_time_limit_gets_the_error() ->
    with_full_table(fun(Handle, Sender) ->
        %% The limit passes while the sender is suspended, and so does the answer.
        timer:sleep(2 * ?LIMIT_MS),
        ?assertEqual(1, tailback_dam_queue:reject(Handle, {error, server_gone})),
        true = erlang:resume_process(Sender),
        ?assertEqual({error, server_gone}, tailback_dam_probe:answer(Sender)),
        ?assertMatch([{_, none, {message, first}}], tailback_dam_queue:take(Handle, 10))
    end).

a_message_for_which_there_is_room_by_now_is_accepted_test_() ->
    {timeout, 300, fun a_message_for_which_there_is_room_by_now_is_accepted/0}.

a_message_for_which_there_is_room_by_now_is_accepted() ->
    with_full_table(fun(Handle, Sender) ->
        ?assertMatch([{_, none, {message, first}}], tailback_dam_queue:take(Handle, 1)),
        true = erlang:resume_process(Sender),
        ?assertEqual(ok, tailback_dam_probe:answer(Sender)),
        %% It is an accepted message now, and outlives its sender.
        ok = tailback_dam_probe:end_process(Sender),
        ?assertEqual(0, tailback_dam_queue:reject(Handle, {error, server_gone})),
        _ = tailback_dam_queue:remove_abandoned(Handle, start, 10),
        ?assertMatch([{_, none, {message, second}}], tailback_dam_queue:take(Handle, 10))
    end).

the_row_of_a_dead_sender_is_removed_test_() ->
    {timeout, 300, fun the_row_of_a_dead_sender_is_removed/0}.

the_row_of_a_dead_sender_is_removed() ->
    with_full_table(fun(Handle, Sender) ->
        Next = tailback_dam_queue:remove_abandoned(Handle, start, 10),
        ?assertEqual(1, waiters()),
        ok = tailback_dam_probe:end_process(Sender),
        start = tailback_dam_queue:remove_abandoned(Handle, Next, 10),
        _ = tailback_dam_queue:remove_abandoned(Handle, start, 10),
        ?assertMatch([{_, none, {message, first}}], tailback_dam_queue:take(Handle, 10))
    end).

rows_of_dead_senders_are_removed_step_by_step_test() ->
    Handle = tailback_dam_queue:new(?DAM, #{capacity => 1, policy => block}),
    try
        Dead = spawn(fun() -> ok end),
        ok = tailback_dam_probe:end_process(Dead),
        Put = fun(Number, Sender) ->
            ets:insert(?DAM, {Number, {accept, make_ref(), Sender}, {message, Number}})
        end,
        [Put(Number, Sender) || {Number, Sender} <- [{1, Dead}, {2, self()}, {3, Dead}, {4, Dead}]],
        start = remove_all(Handle, start, 5),
        ?assertMatch([{_, _, {message, 2}}], tailback_dam_queue:take(Handle, 10))
    after
        ets:delete(?DAM)
    end.

%% Such a sender looked at the dam before it was closing, and puts its message in the table after
%% the last flush.
a_sender_that_comes_while_the_dam_stops_takes_its_message_back_test_() ->
    [
        {atom_to_list(Policy), fun() ->
            with_table(Policy, fun(Handle) ->
                Key = tailback_dam_queue:ticket(Handle, normal),
                ok = tailback_dam_queue:set_state(Handle, closing),
                Answer = tailback_dam_sender:admit(Handle, Key, accept, {message, late}, infinity),
                ?assertEqual({error, closing}, Answer),
                ?assertEqual([], tailback_dam_queue:take(Handle, 10))
            end)
        end}
     || Policy <- [block, drop_new, drop_old]
    ].

a_message_that_is_counted_as_undelivered_is_not_taken_back_test() ->
    with_table(block, fun(Handle) ->
        ok = tailback_dam:cast(Handle, early),
        [{Key, none, {message, early}}, _] = ets:tab2list(?DAM),
        true = tailback_dam_queue:insert(Handle, Key + 1, none, flush),
        ?assertEqual(1, tailback_dam_queue:drain(Handle)),
        ?assertNot(tailback_dam_queue:withdraw(Handle, Key)),
        ?assertMatch([{_, none, flush}], tailback_dam_queue:take(Handle, 10))
    end).

%% Looks at one row at a time, to the end of the table.
remove_all(Handle, Cursor, Left) when Left > 0 ->
    case tailback_dam_queue:remove_abandoned(Handle, Cursor, 1) of
        start -> start;
        Next -> remove_all(Handle, Next, Left - 1)
    end.

%% With an accepted message, and a second one whose sender waits and is suspended.
with_full_table(Fun) ->
    with_table(block, fun(Handle) ->
        ok = tailback_dam:cast(Handle, first),
        Sender = suspended_sender(Handle),
        Fun(Handle, Sender),
        tailback_dam_probe:end_process(Sender)
    end).

with_table(Policy, Fun) ->
    Handle = tailback_dam_queue:new(?DAM, #{capacity => 1, policy => Policy}),
    try
        Fun(Handle)
    after
        ets:delete(?DAM),
        receive
            ring -> ok
        after 0 -> ok
        end
    end.

suspended_sender(Handle) ->
    Test = self(),
    Sender = spawn(fun() ->
        Test ! {self(), tailback_dam:cast(Handle, second, ?LIMIT_MS)},
        receive
            stop -> ok
        end
    end),
    suspend(Sender, Handle).

suspend(Sender, Handle) ->
    true = erlang:suspend_process(Sender),
    case waiters() of
        1 ->
            Sender;
        0 ->
            true = erlang:resume_process(Sender),
            receive
                %% The machine was slower than the limit: once more.
                {Sender, {error, timeout}} ->
                    ok = tailback_dam_probe:end_process(Sender),
                    suspended_sender(Handle)
            after 1 -> suspend(Sender, Handle)
            end
    end.

waiters() -> ets:select_count(?DAM, [{{'_', {accept, '_', '_'}, '_'}, [], [true]}]).
