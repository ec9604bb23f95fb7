-module(wait_verdict_tests).

-include_lib("eunit/include/eunit.hrl").

%% Four schedulers, twenty calls of 100 ms: 500 ms with all of them, 2 s with one.
facts(Active, Wall) ->
    #{
        lanes_online => 4,
        sent_us => 0,
        wall_us => Wall,
        ideal_us => 500000,
        finish_us => [Wall * Index div 20 || Index <- lists:seq(1, 20)],
        active_us => Active
    }.

verdict(Facts) ->
    {Verdict, #{reason := Reason}} = wait_verdict:judge(Facts),
    ?assert(is_binary(Reason)),
    Verdict.

verdicts_test_() ->
    [
        {Name, ?_assertEqual(Verdict, verdict(Facts))}
     || {Name, Verdict, Facts} <- [
            {"one works, three sleep", collapse, facts([2000000, 0, 0, 0], 2000000)},
            {"all work", no_collapse, facts([500000, 500000, 499000, 500000], 500000)},
            {"all work, slowly", no_collapse, facts([2000000, 2000000, 2000000, 2000000], 2000000)},
            {"some sleep", inconclusive, facts([700000, 600000, 400000, 300000], 714000)},
            {"none is busy", inconclusive, facts([500000, 500000, 500000, 500000], 2000000)},
            {"asleep but in time", inconclusive, facts([600000, 600000, 0, 0], 600000)},
            {"too short", inconclusive, facts([60000, 0, 0, 0], 60000)},
            {"too few processes", inconclusive, (facts([1, 1, 1, 1], 9))#{finish_us => [9, 9, 9, 9]}},
            {"one scheduler", inconclusive, (facts([2000000], 2000000))#{lanes_online => 1}}
        ]
    ].

%% The time in which fewer workers than schedulers are left does not count.
the_end_of_a_run_does_not_count_test() ->
    Facts = (facts([1900000, 100000, 100000, 100000], 2000000))#{
        finish_us => lists:duplicate(16, 100000) ++ [500000, 1000000, 1500000, 2000000]
    },
    ?assertEqual(no_collapse, verdict(Facts)).

the_share_is_never_more_than_was_the_case_test() ->
    rand:seed(exsss, 2),
    [
        begin
            Wall = 100000 + rand:uniform(1000000),
            Active = [rand:uniform(Wall) || _ <- lists:seq(1, 4)],
            {_, #{asleep_share := Share, queued_us := Queued}} = wait_verdict:judge(facts(Active, Wall)),
            Idle = lists:sum([Wall - One || One <- Active]),
            ?assert(Share >= 0.0),
            ?assert(Share * 4 * Queued =< Idle + 1)
        end
     || _ <- lists:seq(1, 200)
    ].

overall_test_() ->
    [
        ?_assertEqual(Verdict, wait_verdict:overall(Runs))
     || {Verdict, Runs} <- [
            {collapse, [no_collapse, no_collapse, collapse, inconclusive]},
            {no_collapse, [no_collapse, no_collapse, inconclusive]},
            {no_collapse, [no_collapse, inconclusive]},
            {inconclusive, [no_collapse, inconclusive, inconclusive]},
            {inconclusive, [inconclusive]}
        ]
    ].
