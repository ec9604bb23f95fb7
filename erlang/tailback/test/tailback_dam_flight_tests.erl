-module(tailback_dam_flight_tests).

-include_lib("eunit/include/eunit.hrl").

row(N) -> {N, none, {message, N}}.

rows(Numbers) -> [row(N) || N <- Numbers].

confirms_in_order_test_() ->
    {timeout, 300, fun confirms_in_order/0}.

confirms_in_order() ->
    F0 = tailback_dam_flight:new(),
    F1 = tailback_dam_flight:sent(1, rows([1, 2]), F0),
    F2 = tailback_dam_flight:sent(2, rows([3]), F1),
    ?assertEqual(3, tailback_dam_flight:rows(F2)),
    {One, F3} = tailback_dam_flight:confirmed(1, F2),
    ?assertEqual(rows([1, 2]), One),
    ?assertEqual({[], F3}, tailback_dam_flight:confirmed(1, F3)),
    {Two, F4} = tailback_dam_flight:confirmed(2, F3),
    ?assertEqual(rows([3]), Two),
    ?assertEqual([], tailback_dam_flight:all(F4)).

what_was_under_way_goes_out_again_one_at_a_time_test_() ->
    {timeout, 300, fun what_was_under_way_goes_out_again_one_at_a_time/0}.

what_was_under_way_goes_out_again_one_at_a_time() ->
    F1 = tailback_dam_flight:sent(1, rows([1, 2]), tailback_dam_flight:new()),
    {[], F2} = tailback_dam_flight:lost(ended, 3, F1),
    {Row, F3} = tailback_dam_flight:next(F2),
    ?assertEqual(row(1), Row),
    F4 = tailback_dam_flight:sent(2, [Row], F3),
    ?assertEqual(wait, tailback_dam_flight:next(F4)),
    {[Row], F5} = tailback_dam_flight:confirmed(2, F4),
    {Second, F6} = tailback_dam_flight:next(F5),
    ?assertEqual(row(2), Second),
    ?assertEqual(none, tailback_dam_flight:next(F6)).

crash(How, Attempts, Flight0) ->
    {Row, Flight1} = tailback_dam_flight:next(Flight0),
    tailback_dam_flight:lost(How, Attempts, tailback_dam_flight:sent(9, [Row], Flight1)).

a_row_that_crashes_alone_is_given_up_test_() ->
    {timeout, 300, fun a_row_that_crashes_alone_is_given_up/0}.

a_row_that_crashes_alone_is_given_up() ->
    F0 = tailback_dam_flight:sent(1, rows([1, 2]), tailback_dam_flight:new()),
    {[], F1} = tailback_dam_flight:lost(crashed, 2, F0),
    {[], F2} = crash(crashed, 2, F1),
    {[], F3} = crash(ended, 2, F2),
    {Given, F4} = crash(crashed, 2, F3),
    ?assertEqual([row(1)], Given),
    ?assertEqual([row(2)], tailback_dam_flight:all(F4)).

a_row_counts_only_if_the_server_has_come_to_it_test_() ->
    {timeout, 300, fun a_row_counts_only_if_the_server_has_come_to_it/0}.

a_row_counts_only_if_the_server_has_come_to_it() ->
    F0 = tailback_dam_flight:sent(1, rows([1]), tailback_dam_flight:new()),
    {[], F1} = tailback_dam_flight:lost(crashed, 1, F0),
    {Row, F2} = tailback_dam_flight:next(F1),
    F3 = tailback_dam_flight:sent(3, [Row], tailback_dam_flight:sent(2, [], F2)),
    {[], F4} = tailback_dam_flight:lost(crashed, 1, F3),
    {Row, F5} = tailback_dam_flight:next(F4),
    F6 = tailback_dam_flight:sent(5, [Row], tailback_dam_flight:sent(4, [], F5)),
    {[], F7} = tailback_dam_flight:confirmed(4, F6),
    {Given, F8} = tailback_dam_flight:lost(crashed, 1, F7),
    ?assertEqual([row(1)], Given),
    ?assertEqual([], tailback_dam_flight:all(F8)).

a_flush_is_never_given_up_test_() ->
    {timeout, 300, fun a_flush_is_never_given_up/0}.

a_flush_is_never_given_up() ->
    Flush = {1, none, flush},
    F0 = tailback_dam_flight:sent(1, [Flush], tailback_dam_flight:new()),
    {[], F1} = tailback_dam_flight:lost(crashed, 1, F0),
    {[], F2} = crash(crashed, 1, F1),
    ?assertEqual([Flush], tailback_dam_flight:all(F2)).

nothing_goes_out_behind_a_row_that_went_out_again_test() ->
    F0 = tailback_dam_flight:sent(1, rows([1]), tailback_dam_flight:new()),
    {[], F1} = tailback_dam_flight:lost(ended, 3, F0),
    {Row, F2} = tailback_dam_flight:next(F1),
    F3 = tailback_dam_flight:sent(3, [Row], tailback_dam_flight:sent(2, [], F2)),
    ?assertEqual(wait, tailback_dam_flight:next(F3)),
    {[], F4} = tailback_dam_flight:confirmed(2, F3),
    ?assertEqual(wait, tailback_dam_flight:next(F4)),
    {[Row], F5} = tailback_dam_flight:confirmed(3, F4),
    ?assertEqual(none, tailback_dam_flight:next(F5)),
    %% From then on, batches follow each other again.
    ?assertEqual(none, tailback_dam_flight:next(tailback_dam_flight:sent(4, rows([2]), F5))).

never_given_up_without_a_limit_test_() ->
    {timeout, 300, fun never_given_up_without_a_limit/0}.

never_given_up_without_a_limit() ->
    F0 = tailback_dam_flight:sent(1, rows([1]), tailback_dam_flight:new()),
    {[], F1} = tailback_dam_flight:lost(crashed, infinity, F0),
    lists:foldl(
        fun(_, F) ->
            {Given, Next} = crash(crashed, infinity, F),
            ?assertEqual([], Given),
            Next
        end,
        F1,
        lists:seq(1, 50)
    ).

%% Whatever happens, every row that was sent is confirmed once or still there, in its order.
nothing_gets_lost_or_changes_places_test_() ->
    [{integer_to_list(Seed), fun() -> run(Seed) end} || Seed <- lists:seq(1, 200)].

run(Seed) ->
    rand:seed(exsss, Seed),
    {Flight, Next, _, Confirmed} = lists:foldl(
        fun(_, Acc) -> step(rand:uniform(4), Acc) end,
        {tailback_dam_flight:new(), 1, 1, []},
        lists:seq(1, 100)
    ),
    All = Confirmed ++ [N || {N, _, _} <- tailback_dam_flight:all(Flight)],
    ?assertEqual(lists:seq(1, Next - 1), All).

step(1, {Flight, Next, Id, Confirmed}) ->
    {Rows, Sure} = tailback_dam_flight:confirmed(rand:uniform(Id), Flight),
    {Sure, Next, Id, Confirmed ++ [N || {N, _, _} <- Rows]};
step(2, {Flight, Next, Id, Confirmed}) ->
    {[], Lost} = tailback_dam_flight:lost(ended, 3, Flight),
    {Lost, Next, Id, Confirmed};
step(_, {Flight, Next, Id, Confirmed}) ->
    case tailback_dam_flight:next(Flight) of
        wait ->
            {Flight, Next, Id, Confirmed};
        {Row, Rest} ->
            {tailback_dam_flight:sent(Id, [Row], Rest), Next, Id + 1, Confirmed};
        none ->
            N = rand:uniform(5),
            Rows = rows(lists:seq(Next, Next + N - 1)),
            {tailback_dam_flight:sent(Id, Rows, Flight), Next + N, Id + 1, Confirmed}
    end.
