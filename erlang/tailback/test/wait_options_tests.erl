-module(wait_options_tests).

-include_lib("eunit/include/eunit.hrl").

good() ->
    #{mode => bignum, processes => 2, work => 1, calls => 1}.

good_options_are_filled_in_test() ->
    {ok, Plan} = wait_options:check(good()),
    ?assertMatch(#{iterations := 0, sample_ms := 20, settle_ms := 100, tell := none}, Plan).

refusals_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Change])), ?_assertEqual(Kind, kind(Change))}
     || {Kind, Change} <- [
            {bad_processes, #{processes => 0}},
            {bad_processes, #{processes => -1}},
            {bad_processes, #{processes => 1.5}},
            {bad_processes, #{processes => many}},
            {bad_work, #{work => -1}},
            {bad_work, #{work => "1"}},
            {bad_work, #{work => 600000001}},
            {bad_work, #{mode => md5, work => 1 bsl 40}},
            {bad_calls, #{calls => -1}},
            {bad_calls, #{calls => 2.0}},
            {bad_iterations, #{iterations => -1}},
            {bad_mode, #{mode => md6}},
            {bad_mode, #{mode => "md5"}},
            {bad_options, #{sample_ms => 0}},
            {bad_options, #{settle_ms => -1}},
            {bad_options, #{tell => nobody}},
            {bad_options, #{tell => fun() -> ok end}},
            {bad_options, #{colour => red}},
            {too_many_processes, #{processes => 134217728}}
        ]
    ].

kind(Change) ->
    {error, {Kind, Line}} = wait_options:check(maps:merge(good(), Change)),
    ?assert(is_one_line(Line)),
    Kind.

is_one_line(Line) ->
    is_binary(Line) andalso byte_size(Line) > 0 andalso binary:match(Line, <<"\n">>) =:= nomatch.

missing_options_are_named_test_() ->
    [
        ?_assertMatch({error, {Kind, _}}, wait_options:check(maps:remove(Key, good())))
     || {Key, Kind} <- [{processes, bad_processes}, {work, bad_work}, {calls, bad_calls}]
    ].

only_a_map_will_do_test() ->
    ?assertMatch({error, {bad_options, _}}, wait_options:check([{processes, 1}])).

a_huge_term_stays_one_short_line_test() ->
    {error, {bad_work, Line}} = wait_options:check((good())#{work => lists:seq(1, 100000)}),
    ?assert(byte_size(Line) < 300).

the_limit_of_the_node_is_said_with_its_remedy_test() ->
    Count = erlang:system_info(process_limit),
    {error, {too_many_processes, Line}} = wait_options:check((good())#{processes => Count}),
    {match, [Needed]} = re:run(Line, "erl \\+P ([0-9]+)", [{capture, [1], list}]),
    ?assert(list_to_integer(Needed) > Count).

arguments_of_a_command_line_test_() ->
    Expected = #{mode => md5, processes => 400, work => 1048576, calls => 20, iterations => 5},
    [
        ?_assertEqual({ok, Expected}, wait_options:from_strings(["400", "1048576", "20", "5"])),
        ?_assertEqual({ok, Expected}, wait_options:from_strings(['400', '1048576', '20', '5'])),
        ?_assertEqual({ok, Expected}, wait_options:from_strings([400, 1048576, <<"20">>, 5])),
        ?_assertEqual(
            {ok, Expected#{mode => nif_sleep}},
            wait_options:from_strings(["nif_sleep", "400", "1048576", "20", "5"])
        ),
        ?_assertMatch({error, {bad_arguments, _}}, wait_options:from_strings(["400"])),
        ?_assertMatch({error, {bad_arguments, _}}, wait_options:from_strings(400)),
        ?_assertMatch({ok, #{work := "1e6"}}, wait_options:from_strings(["4", "1e6", "1", "1"])),
        ?_assertMatch({ok, #{mode := "sha"}}, wait_options:from_strings(["sha", "4", "1", "1", "1"]))
    ].
