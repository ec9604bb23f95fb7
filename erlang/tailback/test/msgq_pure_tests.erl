-module(msgq_pure_tests).

-include_lib("eunit/include/eunit.hrl").

%% ---- histogram

every_value_is_within_its_bucket_test_() ->
    {timeout, 300, fun every_value_is_within_its_bucket/0}.

every_value_is_within_its_bucket() ->
    rand:seed(exsss, 7),
    Values = lists:seq(0, 5000) ++ [rand:uniform(1 bsl rand:uniform(39)) || _ <- lists:seq(1, 5000)],
    [
        begin
            {Low, High} = msgq_histogram:bounds(msgq_histogram:bucket(V)),
            ?assert(Low =< V andalso V < High),
            ?assert(V < 8 orelse (High - Low) * 8 =< Low)
        end
     || V <- Values
    ].

buckets_do_not_overlap_test() ->
    [
        ?assertEqual(
            element(2, msgq_histogram:bounds(N)), element(1, msgq_histogram:bounds(N + 1))
        )
     || N <- lists:seq(1, 300)
    ].

odd_values_are_counted_too_test() ->
    H = msgq_histogram:new(),
    [msgq_histogram:add(H, V) || V <- [-5, 0, 1 bsl 60]],
    ?assertEqual(3, lists:sum([N || {_, N} <- msgq_histogram:buckets(H)])).

quantiles_test() ->
    H = msgq_histogram:new(),
    ?assertEqual([], msgq_histogram:quantiles(H, [0.5])),
    [msgq_histogram:add(H, 1000) || _ <- lists:seq(1, 99)],
    msgq_histogram:add(H, 1000000),
    [{0.5, Half}, {0.99, P99}, {1.0, Max}] = msgq_histogram:quantiles(H, [0.5, 0.99, 1.0]),
    ?assert(Half >= 1.0 andalso Half =< 1.125),
    ?assertEqual(Half, P99),
    ?assert(Max >= 1000.0 andalso Max =< 1125.0).

%% ---- tally

tally_against_a_list_test_() ->
    [{integer_to_list(Seed), fun() -> tally(Seed) end} || Seed <- lists:seq(1, 50)].

tally(Seed) ->
    rand:seed(exsss, Seed),
    {Senders, Messages} = {rand:uniform(5), rand:uniform(80)},
    Records = [{rand:uniform(Senders), rand:uniform(Messages)} || _ <- lists:seq(1, 150)],
    Tally = msgq_tally:new(Senders, Messages),
    [msgq_tally:record(Tally, R, written) || R <- Records],
    Distinct = length(lists:usort(Records)),
    ?assertEqual(
        #{
            handled => Distinct,
            duplicated => length(Records) - Distinct,
            out_of_order => late(Records, []),
            failed => 0
        },
        msgq_tally:read(Tally)
    ),
    ?assertEqual(Distinct, msgq_tally:handled(Tally)).

%% Counts messages that arrive for the first time after a later number of the same sender.
late([], _) ->
    0;
late([{S, N} = R | Rest], Before) ->
    New = not lists:member(R, Before),
    Behind = lists:any(fun({T, M}) -> T =:= S andalso M > N end, Before),
    length([x || New andalso Behind]) + late(Rest, [R | Before]).

failed_writes_are_counted_test() ->
    Tally = msgq_tally:new(1, 2),
    msgq_tally:record(Tally, {1, 1}, failed),
    msgq_tally:record(Tally, {1, 2}, written),
    ?assertMatch(#{handled := 2, failed := 1}, msgq_tally:read(Tally)).

%% The monotonic clock is negative, so a number in place of `none' would be later than any time.
the_time_of_the_last_message_is_none_before_there_is_one_test() ->
    Tally = msgq_tally:new(1, 1),
    ?assertEqual(none, msgq_tally:last_ns(Tally)),
    Start = erlang:monotonic_time(nanosecond),
    msgq_tally:record(Tally, {1, 1}, written),
    Last = msgq_tally:last_ns(Tally),
    ?assert(is_integer(Last) andalso Last >= Start).

%% ---- samples

samples_are_bounded_and_highs_are_kept_test_() ->
    {timeout, 300, fun samples_are_bounded_and_highs_are_kept/0}.

samples_are_bounded_and_highs_are_kept() ->
    Samples = lists:foldl(
        fun(I, S) ->
            Peak = length([x || I =:= 33333]) * 1000000,
            msgq_samples:add(
                #{at_us => I, server => I + Peak, dam => 1, held => 0, memory => 5}, S
            )
        end,
        msgq_samples:new(10),
        lists:seq(1, 100000)
    ),
    Result = msgq_samples:result(Samples),
    #{server_queue := Series, server_queue_high := High, both_queues_high := Both} = Result,
    ?assert(length(Series) =< 20000),
    ?assert(length(Series) > 5000),
    ?assertEqual({1033333, 1033334}, {High, Both}),
    ?assertEqual(Series, lists:sort(Series)),
    ?assertMatch(#{samples := 100000}, Result),
    %% The kept samples are evenly spaced up to the end.
    [{A, _}, {B, _} | _] = Series,
    {C, _} = lists:last(Series),
    ?assert(100000 - C =< 2 * (B - A)).

%% ---- the original's lines

lines_of_watch_test() ->
    ?assertEqual(
        "DateTime\t\t\tdam msgq (diff)\tserver msgq (diff)\n",
        lists:flatten(msgq_watch:header())
    ),
    ?assertEqual(
        "2019-06-30T08:34:28.371Z\t658809 (-7548)\t9223 (-303)\n",
        lists:flatten(
            msgq_watch:line("2019-06-30T08:34:28.371Z", {658809, 666357}, {9223, 9526})
        )
    ),
    ?assertEqual("T\t- (0)\t5 (0)\n", lists:flatten(msgq_watch:line("T", {none, 3}, {5, none}))).
