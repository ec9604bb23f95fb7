-module(wait_tests).

-include_lib("eunit/include/eunit.hrl").

tiny() ->
    #{mode => bignum, processes => 3, work => 100, calls => 1, settle_ms => 10}.

long() ->
    #{mode => nif_yield, processes => 3, work => 5000000, calls => 10, settle_ms => 10}.

run_prints_the_lines_and_answers_the_pair_test_() ->
    {timeout, 300, fun() ->
        {{RunTimes, Use}, Lines} = test_printed:by(fun() -> wait:run(md5, 20, 100000, 20, 5) end),
        ?assertEqual(20, length(RunTimes)),
        [?assert(is_float(Seconds) andalso Seconds > 0) || Seconds <- RunTimes],
        Ids = lists:seq(1, erlang:system_info(schedulers)),
        ?assertEqual(Ids, [Id || {Id, _} <- Use]),
        [?assert(Percent >= 0.0 andalso Percent =< 100.0) || {_, Percent} <- Use],
        in_order(Lines, [
            "^Ready \\.\\.\\. go at {\\d+,\\d+,\\d+}$",
            "^{\\d+,\\d+,\\d+} All go messages sent$",
            "^{\\d+,\\d+,\\d+} Start of status loop \\([0-9.e-]+ secs since first go\\)$",
            "^{\\d+,\\d+,\\d+} Start of monitor loop \\([0-9.e-]+ secs since first go\\)$",
            "^SWT results \\(utilization per scheduler\\)$",
            "^\\[{1,[0-9.e-]+}"
        ])
    end}.

a_line_on_the_queues_is_printed_test_() ->
    {timeout, 300, fun() ->
        {_, Lines} = test_printed:by(fun() -> wait:run(nif_yield, 20, 100000, 2, 0) end),
        in_order(Lines, [
            "Start of monitor loop",
            "^{\\d+,\\d+,\\d+} {(even|minority_zero|unbalanced),[0-9.e]+} {\\d+(,\\d+)*}$",
            "^SWT results"
        ])
    end}.

in_order(_Lines, []) ->
    ok;
in_order(Lines, [Pattern | Patterns]) ->
    case lists:dropwhile(fun(Line) -> re:run(Line, Pattern) =:= nomatch end, Lines) of
        [_ | Later] -> in_order(Later, Patterns);
        [] -> error({no_such_line, Pattern, Lines})
    end.

run_takes_strings_test_() ->
    {timeout, 300, fun() ->
        {{RunTimes, _}, _} = test_printed:by(fun() -> wait:run(["bignum", "2", "10", "1", "0"]) end),
        ?assertEqual(2, length(RunTimes))
    end}.

refusals_are_printed_and_answered_test_() ->
    [
        {timeout, 300, fun() ->
            {{error, {Kind, Line}}, [Printed | _]} = test_printed:by(Run),
            ?assertEqual("wait: " ++ unicode:characters_to_list(Line), Printed)
        end}
     || {Kind, Run} <- [
            {bad_processes, fun() -> wait:run(0, 1, 1, 1) end},
            {bad_work, fun() -> wait:run(["1", "x", "1", "1"]) end},
            {bad_mode, fun() -> wait:run(md7, 1, 1, 1, 1) end},
            {bad_arguments, fun() -> wait:run([]) end},
            {bad_options, fun() -> wait:collapse(#{runs => -1}) end},
            {bad_options, fun() -> wait:collapse(#{preset => other}) end},
            {bad_options, fun() -> wait:collapse(#{online => 0}) end},
            {bad_mode, fun() -> wait:collapse(#{mode => md7}) end}
        ]
    ].

measure_prints_nothing_and_tells_phases_test_() ->
    {timeout, 300, fun measure_prints_nothing_and_tells_phases/0}.

measure_prints_nothing_and_tells_phases() ->
    Self = self(),
    Tell = fun(Event) -> Self ! Event end,
    {{ok, _}, Lines} = test_printed:by(fun() -> wait:measure((tiny())#{tell => Tell}) end),
    ?assertEqual([""], Lines),
    [
        receive
            {phase, Phase} -> ok
        after 0 -> error({not_told, Phase})
        end
     || Phase <- [ready, go, finished]
    ].

a_result_holds_plain_values_test_() ->
    {timeout, 300, fun a_result_holds_plain_values/0}.

a_result_holds_plain_values() ->
    {ok, Result} = wait:measure(tiny()),
    Expected = [
        mode, processes, work, calls, iterations, call_us, iterations_us, ideal_us, lanes, lane_kind,
        schedulers_online, dirty_cpu_online, first_go_us, sent_us, wall_us, run_times_us, finish_us,
        scheduler_use, run_queues, class_counts
    ],
    ?assertEqual(lists:sort(Expected), lists:sort(maps:keys(Result))),
    #{first_go_us := FirstGo, class_counts := Counts, run_queues := Samples} = Result,
    ?assert(abs(os:system_time(microsecond) - FirstGo) < 3600000000),
    ?assertEqual([even, minority_zero, unbalanced], lists:sort(maps:keys(Counts))),
    ?assertEqual(length(Samples), lists:sum(maps:values(Counts))),
    ?assert(is_plain(Result)).

is_plain(Map) when is_map(Map) -> lists:all(fun is_plain/1, maps:keys(Map) ++ maps:values(Map));
is_plain(List) when is_list(List) -> lists:all(fun is_plain/1, List);
is_plain(Tuple) when is_tuple(Tuple) -> is_plain(tuple_to_list(Tuple));
is_plain(Term) -> is_number(Term) orelse is_atom(Term) orelse is_binary(Term).

%% Runs in its own process, since the process of eunit holds messages that other tests left.
the_caller_is_left_as_it_was_test_() ->
    {timeout, 300, fun the_caller_is_left_as_it_was/0}.

the_caller_is_left_as_it_was() ->
    {_, Monitor} = spawn_monitor(fun() -> exit(caller_before_and_after()) end),
    receive
        {'DOWN', Monitor, process, _, {Before, Messages, After}} ->
            ?assertEqual({messages, [kept]}, Messages),
            ?assertEqual(Before, After)
    end.

caller_before_and_after() ->
    Before = caller(),
    self() ! kept,
    {ok, _} = wait:measure(tiny()),
    {error, _} = wait:measure((tiny())#{processes => 0}),
    {Before, process_info(self(), messages), caller()}.

caller() ->
    [process_info(self(), What) || What <- [priority, trap_exit, links, monitors, dictionary]].

%% Runs in separate nodes: the flag belongs to the whole node, and other tests may use it.
restored_test_() ->
    [
        {Name, {timeout, 300, fun() -> in_node(Function) end}}
     || {Name, Function} <- [
            {"flag", fun flag_is_restored/0},
            {"killed worker", fun killed_worker/0},
            {"killed caller", fun killed_caller/0}
        ]
    ].

in_node(Function) ->
    Tests = filename:dirname(filename:absname(code:which(?MODULE))),
    test_vm:with(["-pa", Tests], fun(Peer) ->
        ok = test_vm:call(Peer, erlang, apply, [Function, []])
    end).

flag_is_restored() ->
    undefined = erlang:statistics(scheduler_wall_time),
    {ok, _} = wait:measure(tiny()),
    undefined = erlang:statistics(scheduler_wall_time),
    _ = erlang:system_flag(scheduler_wall_time, true),
    {ok, _} = wait:measure(tiny()),
    true = is_list(erlang:statistics(scheduler_wall_time)),
    true = erlang:system_flag(scheduler_wall_time, false),
    undefined = erlang:statistics(scheduler_wall_time),
    ok.

killed_worker() ->
    Self = self(),
    {Runner, Monitor} = spawn_monitor(fun() ->
        exit(wait:measure((long())#{tell => fun(Event) -> Self ! Event end}))
    end),
    receive
        {phase, go} -> ok
    end,
    [Victim | _] = workers(),
    exit(Victim, kill),
    receive
        {'DOWN', Monitor, process, Runner, Answer} -> {error, {run_broken_off, _}} = Answer
    end,
    nothing_is_left().

killed_caller() ->
    Self = self(),
    Runner = spawn(fun() -> wait:measure((long())#{tell => fun(Event) -> Self ! Event end}) end),
    receive
        {phase, go} -> ok
    end,
    [_, _, _] = workers(),
    exit(Runner, kill),
    nothing_is_left().

%% The VM clears the flag some time after the process that requested it has ended.
nothing_is_left() ->
    eventually(fun() -> workers() =:= [] end),
    eventually(fun() -> erlang:statistics(scheduler_wall_time) =:= undefined end).

a_failing_hearer_is_an_error_test_() ->
    {timeout, 300, fun a_failing_hearer_is_an_error/0}.

a_failing_hearer_is_an_error() ->
    Answer = wait:measure((tiny())#{tell => fun(_) -> error(deaf) end}),
    ?assertMatch({error, {run_broken_off, _}}, Answer),
    eventually(fun() -> workers() =:= [] end).

workers() ->
    [Pid || Pid <- processes(), {initial_call, {wait_worker, start, 2}} =:= initial_call(Pid)].

initial_call(Pid) ->
    process_info(Pid, initial_call).

%% Fails by the time limit of the test.
eventually(Condition) ->
    case Condition() of
        true ->
            ok;
        false ->
            timer:sleep(10),
            eventually(Condition)
    end.

times_count_from_the_go_and_from_the_start_test_() ->
    {timeout, 300, fun() ->
        %% With a single scheduler, the last process waits for all others before it starts.
        test_vm:with(["+S", "1:1", "+SDcpu", "1:1"], fun(Peer) ->
            {ok, #{run_times_us := RunTimes, finish_us := Finishes, ideal_us := Ideal, wall_us := Wall}} =
                test_vm:call(Peer, wait, measure, [
                    #{mode => nif_sleep, processes => 5, work => 20000, calls => 1}
                ]),
            ?assert(lists:max(Finishes) >= 5 * 20000),
            ?assert(lists:min(RunTimes) < 5 * 20000),
            ?assert(Ideal >= 5 * 20000),
            ?assert(Wall >= 5 * 20000)
        end)
    end}.

one_scheduler_prints_and_answers_test_() ->
    {timeout, 300, fun() ->
        test_vm:with(["+S", "1:1"], fun(Peer) ->
            {[_, _], [{1, _}]} = test_vm:call(Peer, wait, run, [bignum, 2, 1000, 2, 5])
        end)
    end}.
