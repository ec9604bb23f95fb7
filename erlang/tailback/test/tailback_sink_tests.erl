-module(tailback_sink_tests).

-include_lib("eunit/include/eunit.hrl").

sinks() ->
    [none, null, port, {port, {packet, 1}}, {port, {line, 100}}, tcp, {tcp, inet}, {tcp, socket}] ++
        [udp, gen_server, tag].

every_sink_takes_writes_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Spec])), {timeout, 300, fun() -> writes(Spec) end}}
     || Spec <- sinks()
    ].

writes(Spec) ->
    Ports = erlang:ports(),
    Links = links(),
    {ok, Sink} = tailback_sink:open(Spec),
    Last = lists:foldl(
        fun(Data, S) ->
            {ok, Next} = tailback_sink:write(S, Data),
            Next
        end,
        Sink,
        [<<"one">>, "two", [<<"th">>, "ree"], <<"4">>]
    ),
    ok = tailback_sink:close(Last),
    ?assertEqual(Links, links()),
    until_no_more(Ports, 10000).

links() ->
    {links, Links} = process_info(self(), links),
    lists:sort(Links).

until_no_more(Ports, 0) ->
    ?assertEqual([], erlang:ports() -- Ports);
until_no_more(Ports, Left) ->
    case erlang:ports() -- Ports of
        [] ->
            ok;
        _ ->
            timer:sleep(10),
            until_no_more(Ports, Left - 1)
    end.

every_combination_of_file_options_test_() ->
    All = [append, raw, delayed_write],
    Subsets = [[O || {O, B} <- lists:zip(All, Bits), B] || Bits <- bits(length(All))],
    [
        {lists:flatten(io_lib:format("~0p", [Options])), {timeout, 300, fun() -> file(Options) end}}
     || Options <- Subsets
    ].

bits(0) -> [[]];
bits(N) -> [[B | Rest] || B <- [true, false], Rest <- bits(N - 1)].

file(Options) ->
    in_scratch(fun(Path) ->
        ok = file:write_file(Path, "before "),
        {ok, Sink} = tailback_sink:open({file, Path, Options}),
        {ok, Next} = tailback_sink:write(Sink, "after"),
        ok = tailback_sink:close(Next),
        %% The old content is kept, whatever the options.
        ?assertEqual({ok, <<"before after">>}, file:read_file(Path))
    end).

in_scratch(Fun) ->
    Name = "tailback-sink-" ++ os:getpid() ++ "-" ++ integer_to_list(erlang:unique_integer([positive])),
    Path = filename:join(os:getenv("TMPDIR", "/tmp"), Name),
    try
        Fun(Path)
    after
        file:delete(Path)
    end.

%% ---- a failure is a value with one line

line_of({error, {Name, Line}}) when is_atom(Name), is_binary(Line) ->
    ?assertEqual(nomatch, binary:match(Line, <<"\n">>)),
    Line.

unknown_sinks_are_refused_test_() ->
    [
        fun() ->
            Answer = tailback_sink:open(Spec),
            ?assertMatch({error, {unknown_sink, _}}, Answer),
            ?assertEqual(Answer, tailback_sink:check(Spec)),
            ?assertNotEqual(nomatch, binary:match(line_of(Answer), <<"gen_server">>))
        end
     || Spec <- [
            nowhere,
            {file, "a.log"},
            {file, "", []},
            {file, 17, []},
            {file, "a.log", [write]},
            {port, {packet, 3}},
            {tcp, quic},
            {tcp, inet, "localhost", 0},
            "a.log",
            {a, {very, [long, list]}, lists:seq(1, 1000)}
        ]
    ].

a_path_that_cannot_be_opened_test_() ->
    {timeout, 300, fun a_path_that_cannot_be_opened/0}.

a_path_that_cannot_be_opened() ->
    Line = line_of(tailback_sink:open({file, "/no/such/folder/a.log", [append]})),
    ?assertNotEqual(nomatch, binary:match(Line, <<"/no/such/folder/a.log">>)),
    _ = line_of(tailback_sink:open({file, "/tmp", [append, raw]})).

a_full_disk_test_() ->
    {timeout, 300, fun a_full_disk/0}.

a_full_disk() ->
    {ok, Sink} = tailback_sink:open({file, "/dev/full", [append, raw]}),
    {error, {enospc, Line}, Next} = tailback_sink:write(Sink, <<"x">>),
    ?assertNotEqual(nomatch, binary:match(Line, <<"/dev/full">>)),
    {error, {enospc, _}, _} = tailback_sink:write(Next, <<"x">>),
    _ = tailback_sink:close(Next).

a_full_disk_is_noticed_late_when_writes_are_delayed_test_() ->
    {timeout, 300, fun a_full_disk_is_noticed_late_when_writes_are_delayed/0}.

a_full_disk_is_noticed_late_when_writes_are_delayed() ->
    {ok, Sink} = tailback_sink:open({file, "/dev/full", [append, raw, delayed_write]}),
    {ok, Next} = tailback_sink:write(Sink, <<"x">>),
    ?assertMatch({error, {enospc, _}}, tailback_sink:close(Next)).

a_peer_that_closed_test_() ->
    {timeout, 300, fun a_peer_that_closed/0}.

a_peer_that_closed() ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, Port} = inet:port(Listener),
    {ok, Sink} = tailback_sink:open({tcp, inet, {127, 0, 0, 1}, Port}),
    {ok, Socket} = gen_tcp:accept(Listener),
    ok = gen_tcp:close(Socket),
    ok = gen_tcp:close(Listener),
    ?assertMatch({closed, {send_failed, _}}, write_until_closed(Sink, 100000)),
    _ = line_of(tailback_sink:open({tcp, inet, {127, 0, 0, 1}, Port})).

write_until_closed(_, 0) ->
    never;
write_until_closed(Sink, Left) ->
    case tailback_sink:write(Sink, <<"x">>) of
        {ok, Next} ->
            timer:sleep(1),
            write_until_closed(Next, Left - 1);
        Other ->
            Other
    end.

no_such_host_test_() ->
    {timeout, 300, fun no_such_host/0}.

no_such_host() ->
    _ = line_of(tailback_sink:open({tcp, inet, "no host at all", 9})),
    _ = line_of(tailback_sink:open({udp, "no host at all", 9})).

a_program_that_died_test_() ->
    {timeout, 300, fun a_program_that_died/0}.

a_program_that_died() ->
    process_flag(trap_exit, true),
    Before = erlang:ports(),
    {ok, Sink} = tailback_sink:open(port),
    [Port] = erlang:ports() -- Before,
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    [] = os:cmd("kill -9 " ++ integer_to_list(Pid)),
    ?assertMatch({closed, {port_closed, _}}, write_until_closed(Sink, 100000)),
    process_flag(trap_exit, false).

what_does_not_fit_is_an_error_and_no_harm_test_() ->
    {timeout, 300, fun what_does_not_fit_is_an_error_and_no_harm/0}.

what_does_not_fit_is_an_error_and_no_harm() ->
    {ok, Lines} = tailback_sink:open({port, {line, 10}}),
    {error, {too_long, _}, L1} = tailback_sink:write(Lines, <<"0123456789">>),
    {error, {too_long, _}, L2} = tailback_sink:write(L1, <<"a\nb">>),
    {ok, L3} = tailback_sink:write(L2, <<"fits">>),
    ok = tailback_sink:close(L3),
    {ok, Packets} = tailback_sink:open({port, {packet, 1}}),
    {error, {too_long, _}, P1} = tailback_sink:write(Packets, binary:copy(<<"x">>, 256)),
    {ok, P2} = tailback_sink:write(P1, binary:copy(<<"x">>, 255)),
    ok = tailback_sink:close(P2).

helpers_that_died_test_() ->
    [
        {timeout, 300, fun() ->
            process_flag(trap_exit, true),
            {links, Before} = process_info(self(), links),
            {ok, Sink} = tailback_sink:open(Spec),
            {links, After} = process_info(self(), links),
            [exit(Pid, kill) || Pid <- After -- Before, is_pid(Pid)],
            ?assertMatch({closed, {_, _}}, write_until_closed(Sink, 100000))
        end}
     || Spec <- [gen_server, tag]
    ].

a_stranger_is_turned_away_test_() ->
    {timeout, 300, fun a_stranger_is_turned_away/0}.

a_stranger_is_turned_away() ->
    {ok, Peer, Port} = tailback_sink_peer:tcp(inet),
    Connect = fun() -> gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]) end,
    {ok, Stranger} = Connect(),
    {ok, Client} = Connect(),
    ok = tailback_sink_peer:client(Peer, inet:sockname(Client)),
    ?assertEqual({error, closed}, gen_tcp:recv(Stranger, 0, 100000)),
    ok = gen_tcp:send(Client, <<"x">>),
    ?assertEqual({error, timeout}, gen_tcp:recv(Client, 0, 50)),
    ok = tailback_sink_peer:stop(Peer).
