-module(msgq_flood_tests).

-include_lib("eunit/include/eunit.hrl").

stop_all() ->
    [
        begin
            unlink(Pid),
            Monitor = monitor(process, Pid),
            exit(Pid, kill),
            receive
                {'DOWN', Monitor, process, _, _} -> ok
            end
        end
     || Name <- [log_dam, log_server], Pid <- [whereis(Name)], Pid =/= undefined
    ],
    ok.

scratch() ->
    Name = "tailback-flood-" ++ os:getpid() ++ "-" ++ integer_to_list(erlang:unique_integer([positive])),
    filename:join(os:getenv("TMPDIR", "/tmp"), Name).

quietly(Fun) ->
    Level = maps:get(level, logger:get_primary_config()),
    ok = logger:set_primary_config(level, none),
    try
        Fun()
    after
        logger:set_primary_config(level, Level)
    end.

%% ---- the original's functions

as_the_original_shows_it_test_() ->
    [
        {atom_to_list(Dam), {timeout, 300, fun() -> original(Dam) end}}
     || Dam <- [threshold, credit]
    ].

original(Dam) ->
    Path = scratch(),
    {ok, Server} = msgq_flood:start_link(Path, #{dam => Dam}),
    try
        %% Both names are registered when start_link returns.
        ?assertEqual(Server, whereis(log_server)),
        ?assert(is_pid(whereis(log_dam))),
        {links, Links} = process_info(self(), links),
        ?assert(lists:member(Server, Links)),
        ?assert(lists:member(whereis(log_dam), Links)),
        ok = msgq_flood:flood_direct(5, 100),
        ok = msgq_flood:flood_to_dam(5, 100),
        ok = msgq_flood:log(<<"by itself">>),
        ok = msgq_flood:log(log_dam, "by the dam"),
        until_written(Path, 1000 * 20 + 9 + 10, Server),
        ok = msgq_flood:stop(Server),
        ?assertEqual({undefined, undefined}, {whereis(log_server), whereis(log_dam)}),
        ?assertEqual(1000 * 20 + 9 + 10, filelib:file_size(Path))
    after
        stop_all(),
        file:delete(Path)
    end.

%% Both floods run on after their functions return, so this waits for the count of the server.
until_written(_, Bytes, Server) -> until_written(Bytes, Server, 10000, 0).

until_written(_, _, 0, _) ->
    error(floods_do_not_end);
until_written(Bytes, Server, Left, _) ->
    case msgq_server:report(Server, 100000) of
        {ok, #{written := 1002}} ->
            ok;
        {ok, #{written := Written}} ->
            timer:sleep(10),
            until_written(Bytes, Server, Left - 1, Written)
    end.

start_link_1_uses_the_file_and_the_threshold_dam_test_() ->
    {timeout, 300, fun start_link_1_uses_the_file_and_the_threshold_dam/0}.

start_link_1_uses_the_file_and_the_threshold_dam() ->
    Path = scratch(),
    {ok, Server} = msgq_flood:start_link(Path),
    ?assertEqual({error, no_dam}, tailback_dam:handle(log_dam)),
    ok = msgq_flood:log("line"),
    ok = msgq_flood:stop(Server),
    ?assertEqual({ok, <<"line">>}, file:read_file(Path)),
    file:delete(Path).

watch_prints_lines_test_() ->
    {timeout, 300, fun() ->
        {ok, Server} = msgq_flood:start_link("", #{sink => none}),
        Text = printed(fun() -> ?assertEqual(ok, msgq_flood:watch(2)) end),
        ok = msgq_flood:stop(Server),
        Stamp = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z",
        Line = Stamp ++ "\t0 \\(0\\)\t0 \\(0\\)\n",
        Pattern = "^DateTime\t\t\tdam msgq \\(diff\\)\tserver msgq \\(diff\\)\n" ++ Line ++ Line ++ "$",
        ?assertMatch({match, _}, re:run(Text, Pattern))
    end}.

printed(Fun) ->
    Leader = group_leader(),
    Test = self(),
    Writer = spawn_link(fun() -> collect(Test, []) end),
    group_leader(Writer, self()),
    try
        Fun()
    after
        group_leader(Leader, self())
    end,
    Writer ! done,
    receive
        {Writer, Text} -> Text
    end.

collect(Test, Said) ->
    receive
        {io_request, From, As, {put_chars, _, Chars}} ->
            From ! {io_reply, As, ok},
            collect(Test, [Said, Chars]);
        done ->
            Test ! {self(), unicode:characters_to_list(Said)}
    end.

%% ---- refusals

refused(Answer) ->
    {error, {Name, Line}} = Answer,
    ?assert(is_atom(Name)),
    ?assertEqual(nomatch, binary:match(Line, <<"\n">>)).

nothing_runs_test_() ->
    {timeout, 300, fun nothing_runs/0}.

nothing_runs() ->
    refused(msgq_flood:log("x")),
    refused(msgq_flood:log(log_dam, "x")),
    refused(msgq_flood:flood_direct(1, 1)),
    refused(msgq_flood:flood_to_dam(1, 1)),
    refused(msgq_flood:stop(log_server)).

bad_numbers_test_() ->
    Bad = [{0, 1}, {1, 0}, {-1, 1}, {1.5, 1}, {many, 1}, {200000, 1000000}],
    [{timeout, 300, fun() -> refused(msgq_flood:flood_direct(S, M)) end} || {S, M} <- Bad] ++
        [{timeout, 300, fun() -> refused(msgq_flood:flood_to_dam(S, M)) end} || {S, M} <- Bad] ++
        [fun() -> refused(msgq_flood:watch(L)) end || L <- [0, -1, x]].

bad_options_test_() ->
    Bad = [
        #{senders => 0},
        #{messages => 0},
        #{sink => nowhere},
        #{dam => big},
        #{dam => credit, dam_options => #{bound => 3}},
        #{message => huge},
        #{message => {large, 0}},
        #{message_queue_data => heap},
        #{fullsweep_after => -1},
        #{sample_ms => 0},
        #{timeout_ms => 0},
        #{memory_limit_bytes => 5},
        #{kill_after_ms => 100},
        #{colour => red},
        #{pace => slow},
        #{pace => one_at_a_time, dam => credit},
        #{mailbox => nobody},
        #{mailbox => decoy, dam => credit},
        #{mailbox => decoy, pace => one_at_a_time},
        #{mailbox => decoy, kill_after_ms => [1]},
        #{senders => 100000, messages => 100000},
        [{senders, 1}]
    ],
    [{lists:flatten(io_lib:format("~0p", [O])), fun() -> refused(msgq_flood:measure(O)) end} || O <- Bad] ++
        [
            fun() -> refused(msgq_flood:cost(O)) end
         || O <- [
                #{lengths => []}, #{lengths => [-1]}, #{ops => 0}, #{sink => x}, #{look_at => none}
            ]
        ] ++
        [
            fun() -> refused(msgq_flood:profile(#{tool => gprof})) end,
            fun() -> refused(msgq_flood:rate(#{writes => 0})) end,
            fun() -> refused(msgq_flood:start_link("", #{})) end,
            fun() -> refused(msgq_flood:start_link("a.log", x)) end
        ].

a_file_that_cannot_be_written_is_an_error_and_no_exit_test_() ->
    {timeout, 300, fun a_file_that_cannot_be_written_is_an_error_and_no_exit/0}.

a_file_that_cannot_be_written_is_an_error_and_no_exit() ->
    {_, Monitor} = spawn_monitor(fun() ->
        refused(msgq_flood:start_link("/no/such/folder/a.log")),
        ?assertEqual({undefined, undefined}, {whereis(log_server), whereis(log_dam)}),
        receive
            Any -> ?assertEqual(nothing, Any)
        after 20 -> ok
        end
    end),
    receive
        {'DOWN', Monitor, process, _, Why} -> ?assertEqual(normal, Why)
    end.

twice_is_an_error_test_() ->
    {timeout, 300, fun twice_is_an_error/0}.

twice_is_an_error() ->
    {ok, Server} = msgq_flood:start_link("", #{sink => none}),
    refused(msgq_flood:start_link("", #{sink => none})),
    refused(msgq_flood:measure(#{})),
    ok = msgq_flood:stop(Server).

%% ---- a sink that fails

a_full_disk_is_counted_and_the_server_lives_test_() ->
    {timeout, 300, fun a_full_disk_is_counted_and_the_server_lives/0}.

a_full_disk_is_counted_and_the_server_lives() ->
    quietly(fun() ->
        {ok, Server} = msgq_flood:start_link("/dev/full", #{
            sink => {file, "/dev/full", [append, raw]}
        }),
        [ok = msgq_flood:log("x") || _ <- lists:seq(1, 1000)],
        {ok, #{written := 0, failed := 1000, last := {enospc, _}}} =
            msgq_server:report(Server, 100000),
        ok = msgq_flood:stop(Server)
    end).

a_sink_that_broke_is_opened_again_test_() ->
    {timeout, 300, fun() ->
        quietly(fun() ->
            Before = erlang:ports(),
            {ok, Server} = msgq_flood:start_link("", #{sink => port}),
            [Port] = erlang:ports() -- Before,
            {os_pid, Pid} = erlang:port_info(Port, os_pid),
            ok = msgq_flood:log("x"),
            ok = msgq_server:sync(Server, 100000),
            [] = os:cmd("kill -9 " ++ integer_to_list(Pid)),
            log_until_reopened(Server, 10000),
            ok = msgq_flood:stop(Server)
        end)
    end}.

log_until_reopened(_, 0) ->
    error(never_opened_again);
log_until_reopened(Server, Left) ->
    ok = msgq_flood:log("x"),
    case msgq_server:report(Server, 100000) of
        {ok, #{reopened := N, failed := F}} when N > 0 -> ?assert(F > 0);
        {ok, _} ->
            timer:sleep(10),
            log_until_reopened(Server, Left - 1)
    end.

stop_has_a_limit_test_() ->
    {timeout, 300, fun stop_has_a_limit/0}.

stop_has_a_limit() ->
    {ok, Server} = msgq_flood:start_link("", #{sink => port, dam => none}),
    true = erlang:suspend_process(Server),
    [ok = msgq_flood:log("x") || _ <- lists:seq(1, 10)],
    refused(msgq_flood:stop(Server, 50)),
    ?assertEqual(undefined, whereis(log_server)).

%% ---- trials

trial_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [O])), {timeout, 300, fun() -> trial(O) end}}
     || O <- [
            #{sink => port, dam => none},
            #{sink => port, dam => threshold, dam_options => #{threshold => 100, pause_ms => 1}},
            #{sink => port, dam => credit},
            #{sink => tag, dam => credit, message => refc, message_queue_data => off_heap},
            #{sink => null, dam => none, message => byte, fullsweep_after => 0},
            #{sink => none, dam => credit, message => {large, 10000}},
            #{sink => gen_server, dam => credit, senders => 2000, messages => 3}
        ]
    ].

trial(Options) ->
    Before = length(processes()),
    All = maps:merge(#{senders => 10, messages => 200, sample_ms => 5}, Options),
    #{senders := S, messages := M} = All,
    {ok, Result} = msgq_flood:measure(All),
    ?assertMatch(
        #{outcome := drained, lost := 0, duplicated := 0, out_of_order := 0, failed := 0}, Result
    ),
    #{drained := Drained, wait_buckets_us := Waits, server_queue := Series} = Result,
    ?assertEqual(S * M, Drained),
    ?assertEqual(S * M, lists:sum([N || {_, N} <- Waits])),
    ?assert(length(Series) >= 1),
    ?assertEqual({undefined, undefined}, {whereis(log_server), whereis(log_dam)}),
    until_processes(Before, 10000).

until_processes(Before, 0) ->
    ?assert(length(processes()) =< Before);
until_processes(Before, Left) ->
    case length(processes()) =< Before of
        true ->
            ok;
        false ->
            timer:sleep(10),
            until_processes(Before, Left - 1)
    end.

memory_has_a_limit_test_() ->
    {timeout, 300, fun memory_has_a_limit/0}.

memory_has_a_limit() ->
    Now = erlang:memory(total),
    Answer = msgq_flood:measure(#{
        sink => port,
        senders => 20,
        messages => 100000,
        message => {large, 1000},
        sample_ms => 1,
        memory_limit_bytes => Now + 20 * 1024 * 1024
    }),
    ?assertMatch({error, {memory_limit, _}}, Answer),
    refused(Answer),
    ?assertEqual(undefined, whereis(log_server)).

one_at_a_time_nothing_queues_test_() ->
    {timeout, 300, fun one_at_a_time_nothing_queues/0}.

one_at_a_time_nothing_queues() ->
    {ok, Result} = msgq_flood:measure(#{
        sink => tag, senders => 1, messages => 500, pace => one_at_a_time, sample_ms => 1
    }),
    ?assertMatch(#{outcome := drained, drained := 500, lost := 0}, Result),
    %% The message, and the `sync' request after it.
    ?assert(maps:get(server_queue_high, Result) =< 2).

what_waits_for_a_decoy_does_not_wait_for_the_server_test_() ->
    {timeout, 300, fun what_waits_for_a_decoy_does_not_wait_for_the_server/0}.

what_waits_for_a_decoy_does_not_wait_for_the_server() ->
    {ok, Result} = msgq_flood:measure(#{
        sink => none, senders => 10, messages => 500, mailbox => decoy, sample_ms => 1
    }),
    ?assertMatch(#{outcome := drained, offered := 5000, sent := 5000, drained := 5000}, Result),
    ?assertMatch(#{lost := 0, out_of_order := 0, duplicated := 0}, Result),
    %% The length that a sample catches depends on the speed of the machine.
    ?assert(maps:get(dam_queue_high, Result) > 0),
    ?assert(maps:get(server_queue_high, Result) =< msgq_feeder:most(5000)),
    ?assertEqual([], [Name || Name <- [log_server, log_dam], whereis(Name) =/= undefined]).

writes_are_timed_beside_a_decoy_test_() ->
    {timeout, 300, fun writes_are_timed_beside_a_decoy/0}.

writes_are_timed_beside_a_decoy() ->
    Before = erlang:system_info(process_count),
    {ok, #{costs := Costs, functions := Seen}} = msgq_flood:cost(#{
        sink => tag, lengths => [0, 3000], ops => 5, mailbox => decoy, look_at => longest
    }),
    ?assertMatch([{0, [_, _, _, _, _]}, {3000, [_, _, _, _, _]}], Costs),
    ?assertMatch([{0, []}, {3000, [_ | _]}], Seen),
    ?assert(erlang:system_info(process_count) =< Before + 2).

all_senders_are_there_before_the_flood_begins_test_() ->
    {timeout, 300, fun all_senders_are_there_before_the_flood_begins/0}.

all_senders_are_there_before_the_flood_begins() ->
    Before = erlang:system_info(process_count),
    Senders = msgq_senders:start(#{
        senders => 10000, messages => 1, message => byte, way => direct, to => none, waits => none
    }),
    %% Processes of earlier tests may end meanwhile.
    ?assert(erlang:system_info(process_count) > Before + 9000),
    ?assertMatch(#{sent := 0, finished := 0}, msgq_senders:progress(Senders)),
    ok = msgq_senders:stop(Senders).

a_time_limit_is_an_outcome_test_() ->
    {timeout, 300, fun a_time_limit_is_an_outcome/0}.

a_time_limit_is_an_outcome() ->
    {ok, Result} = msgq_flood:measure(#{senders => 10, messages => 20000, timeout_ms => 50}),
    ?assertMatch(#{outcome := timeout, lost := unknown}, Result).

a_direct_flood_loses_what_was_queued_when_the_server_is_killed_test_() ->
    {timeout, 300, fun a_direct_flood_loses_what_was_queued_when_the_server_is_killed/0}.

a_direct_flood_loses_what_was_queued_when_the_server_is_killed() ->
    {ok, Result} = msgq_flood:measure(#{
        senders => 10, messages => 3000, kill_after_ms => [20], sample_ms => 5
    }),
    #{killed := 1, outcome := settled, lost := Lost} = Result,
    ?assert(Lost > 0).

a_trial_ends_with_its_caller_test_() ->
    {timeout, 300, fun a_trial_ends_with_its_caller/0}.

a_trial_ends_with_its_caller() ->
    {Caller, Monitor} = spawn_monitor(fun() ->
        msgq_flood:measure(#{senders => 10, messages => 100000, memory_limit_bytes => 1 bsl 40})
    end),
    wait_for(fun() -> whereis(log_server) =/= undefined end, 20000),
    exit(Caller, kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end,
    wait_for(fun() -> whereis(log_server) =:= undefined end, 20000).

wait_for(Condition, Left) ->
    case Condition() of
        true ->
            ok;
        false when Left > 0 ->
            timer:sleep(5),
            wait_for(Condition, Left - 1)
    end.

%% ---- cost and profile

cost_grows_with_the_queue_where_the_receive_scans_test_() ->
    {timeout, 300, fun() ->
        {ok, #{costs := Scans, functions := Seen, order := Order}} =
            msgq_flood:cost(#{sink => tag, lengths => [0, 100000], ops => 15}),
        ?assertEqual([0, 100000], lists:sort(Order)),
        [{0, Empty}, {100000, Full}] = Scans,
        ?assertEqual({15, 15}, {length(Empty), length(Full)}),
        %% The fastest calls: other work on the machine can only make a call slower.
        ?assert(lists:min(Full) > 10 * lists:min(Empty)),
        {_, [{Function, _} | _]} = lists:keyfind(100000, 1, Seen),
        ?assertEqual({tailback_sink_tag, write, 2}, Function)
    end}.

the_order_comes_from_the_seed_test_() ->
    {timeout, 300, fun the_order_comes_from_the_seed/0}.

the_order_comes_from_the_seed() ->
    Order = fun(Seed) ->
        {ok, #{order := O}} = msgq_flood:cost(#{
            sink => none, lengths => lists:seq(0, 9), ops => 1, seed => Seed, sample_for_ms => 0
        }),
        O
    end,
    ?assertEqual(Order(5), Order(5)),
    ?assert(length(lists:usort([Order(S) || S <- lists:seq(1, 10)])) > 1).

cost_says_what_failed_test_() ->
    {timeout, 300, fun cost_says_what_failed/0}.

cost_says_what_failed() ->
    quietly(fun() -> refused(msgq_flood:cost(#{sink => {file, "/dev/full", [raw]}})) end).

rate_test_() ->
    {timeout, 300, fun rate/0}.

rate() ->
    {ok, #{rate := Rate, wall_us := _}} = msgq_flood:rate(#{sink => none, writes => 1000}),
    ?assert(Rate > 0).

rate_writes_once_before_it_measures_test_() ->
    {timeout, 300, fun rate_writes_once_before_it_measures/0}.

rate_writes_once_before_it_measures() ->
    Path = scratch(),
    Sink = {file, Path, [append, raw]},
    try
        {ok, _} = msgq_flood:rate(#{sink => Sink, message => byte, writes => 10}),
        ?assertEqual({ok, binary:copy(<<"x">>, 11)}, file:read_file(Path))
    after
        file:delete(Path)
    end.

compare_shows_both_dams_beside_the_reference_test_() ->
    {timeout, 300, fun() ->
        Text = printed(fun() ->
            {ok, Runs} = msgq_flood:compare(#{
                sink => tag, senders => 10, messages => 300, reference => 1000
            }),
            [reference, credit, threshold] = lists:sort(fun in_order/2, maps:keys(Runs)),
            #{credit := Credit, reference := #{drained := Written}} = Runs,
            ?assertMatch(
                #{outcome := drained, drained := 3000, lost := 0, duplicated := 0, out_of_order := 0},
                Credit
            ),
            %% The reference runs before, between and after the dams.
            ?assertEqual(3 * 1000, Written)
        end),
        ?assertMatch({match, _}, re:run(Text, "\\ncredit dam .* 3000 +3000 +0 +0 +0 ")),
        ?assertEqual({undefined, undefined}, {whereis(log_server), whereis(log_dam)})
    end}.

in_order(A, B) -> rank(A) =< rank(B).

rank(reference) -> 1;
rank(credit) -> 2;
rank(threshold) -> 3.

compare_refuses_test_() ->
    [
        {timeout, 300, fun() -> refused(msgq_flood:compare(O)) end}
     || O <- [
            #{messages => 0},
            #{reference => 0},
            #{sink => nowhere},
            #{sink => {file, "/no/such/folder/a.log", [append]}, messages => 1},
            #{dam_options => #{bound => 3}, reference => 1, messages => 1},
            #{pace => flood}
        ]
    ].

profile_prints_and_returns_the_table_test_() ->
    {timeout, 300, fun() ->
        Text = printed(fun() ->
            {ok, #{tool := Tool, rows := Rows}} = msgq_flood:profile(#{
                queued => 3000, for_ms => 2000
            }),
            ?assert(lists:member(Tool, [tprof, eprof])),
            ?assert(lists:keymember({tailback_sink_port, write, 2}, 1, Rows)),
            Times = [Us || {_, _, Us} <- Rows],
            ?assertEqual(Times, lists:sort(Times))
        end),
        ?assertMatch({match, _}, re:run(Text, "^FUNCTION +CALLS +% +TIME +\\[uS / CALLS\\]\n")),
        ?assertMatch({match, _}, re:run(Text, "tailback_sink_port:write/2"))
    end}.

%% A file for the table of eprof could be a link of another user, and would stay after a kill.
eprof_writes_no_file_test_() ->
    {timeout, 300, fun() ->
        Was = os:getenv("TMPDIR"),
        true = os:putenv("TMPDIR", "/no/such/folder"),
        try
            {ok, #{tool := eprof, rows := Rows}} = msgq_flood:profile(#{
                tool => eprof, queued => 3000, for_ms => 2000, print => false
            }),
            ?assert(lists:keymember({tailback_sink_port, write, 2}, 1, Rows))
        after
            case Was of
                false -> os:unsetenv("TMPDIR");
                _ -> os:putenv("TMPDIR", Was)
            end
        end
    end}.
