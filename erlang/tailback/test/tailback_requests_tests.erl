-module(tailback_requests_tests).

-include_lib("eunit/include/eunit.hrl").

options() ->
    #{kind => timer, workers => 4, rate => 400, duration_ms => 500, seed => 1}.

latencies(Binary) ->
    [Us || <<Us:32>> <= Binary].

every_kind_serves_what_is_due_test_() ->
    [{timeout, 300, fun() -> serves(Kind) end} || Kind <- tailback_request:kinds()].

serves(Kind) ->
    {ok, Result} = tailback_requests:run((options())#{
        kind => Kind, dir => "/tmp", duration_ms => 2000
    }),
    #{due := Due, latencies := Done, unfinished := Left, failed := 0} = Result,
    ?assert(Due > 0),
    ?assertEqual(Due, length(latencies(Done)) + length(latencies(Left))),
    ?assert(Due > length(latencies(Left))).

arrivals_are_those_of_the_seed_test_() ->
    {timeout, 300, fun arrivals_are_those_of_the_seed/0}.

arrivals_are_those_of_the_seed() ->
    Due = fun(Seed) ->
        {ok, #{due := Due}} = tailback_requests:run((options())#{seed => Seed}),
        Due
    end,
    ?assertEqual(Due(7), Due(7)),
    ?assert(length(lists:usort([Due(Seed) || Seed <- lists:seq(1, 5)])) > 1).

background_work_is_counted_test_() ->
    {timeout, 300, fun background_work_is_counted/0}.

background_work_is_counted() ->
    {ok, #{background_pieces := Pieces}} = tailback_requests:run((options())#{background => 2}),
    ?assert(Pieces > 0),
    {ok, #{background_pieces := None}} = tailback_requests:run(options()),
    ?assertEqual(0, None).

what_cannot_be_played_is_refused_in_one_line_test_() ->
    {timeout, 300, fun what_cannot_be_played_is_refused_in_one_line/0}.

what_cannot_be_played_is_refused_in_one_line() ->
    Bad = [
        #{},
        (options())#{kind => smoke},
        (options())#{workers => 0},
        (options())#{rate => -1},
        (options())#{rate => 1000000000}
    ],
    Refused = fun(Options) ->
        {error, {bad_option, Line}} = tailback_requests:run(Options),
        ?assertEqual(nomatch, binary:match(Line, <<"\n">>))
    end,
    lists:foreach(Refused, Bad).

a_folder_that_cannot_be_written_is_named_test_() ->
    {timeout, 300, fun a_folder_that_cannot_be_written_is_named/0}.

a_folder_that_cannot_be_written_is_named() ->
    Options = (options())#{kind => file, dir => "/proc/nowhere"},
    {error, {no_request, Line}} = tailback_requests:run(Options),
    ?assertMatch({_, _}, binary:match(Line, <<"/proc/nowhere">>)),
    ?assertEqual({messages, []}, process_info(self(), messages)).

a_worker_that_ends_early_counts_as_failed_requests_test_() ->
    {timeout, 300, fun a_worker_that_ends_early_counts_as_failed_requests/0}.

a_worker_that_ends_early_counts_as_failed_requests() ->
    Before = monitored(),
    KillOne = fun(ready) ->
        [Worker | _] = monitored() -- Before,
        exit(Worker, kill)
    end,
    {ok, #{failed := Failed}} = tailback_requests:run((options())#{tell => KillOne}),
    %% 400 requests a second for half a second: 50 for each of the four workers.
    ?assertEqual(50, Failed).

monitored() ->
    {monitors, Monitors} = process_info(self(), monitors),
    [Pid || {process, Pid} <- Monitors, is_pid(Pid)].

nothing_is_left_behind_test_() ->
    {timeout, 300, fun nothing_is_left_behind/0}.

nothing_is_left_behind() ->
    Before = {length(processes()), length(erlang:ports())},
    {ok, _} = tailback_requests:run((options())#{kind => port}),
    until_gone(Before).

%% Ended processes and ports, also those of an earlier test, may take a moment to disappear.
until_gone({Processes, Ports} = Before) ->
    case length(processes()) =< Processes andalso length(erlang:ports()) =< Ports of
        true -> ok;
        false -> timer:sleep(10), until_gone(Before)
    end.
