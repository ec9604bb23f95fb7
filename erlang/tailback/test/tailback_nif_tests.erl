-module(tailback_nif_tests).

-include_lib("eunit/include/eunit.hrl").

-define(WORK, [
    busy, sleep, busy_charge, sleep_charge, busy_dirty, sleep_dirty, busy_yield, sleep_yield
]).

is_available_test_() ->
    {timeout, 300, fun is_available/0}.

is_available() ->
    ?assertEqual(true, tailback_nif:available()).

takes_at_least_as_long_as_asked_test_() ->
    [
        {atom_to_list(Function), fun() ->
            {Us, ok} = timer:tc(tailback_nif, Function, [5000]),
            ?assert(Us >= 5000)
        end}
     || Function <- ?WORK
    ].

bad_arguments_test_() ->
    [
        ?_assertError(badarg, tailback_nif:Function(Us))
     || Function <- ?WORK, Us <- [-1, 600000001, 1 bsl 70, 1.0, soon, [], <<"1">>]
    ].

nothing_takes_no_time_to_speak_of_test_() ->
    [?_assertEqual(ok, tailback_nif:Function(0)) || Function <- ?WORK].

%% Done twice, to use both versions of the code that a node can hold.
can_be_loaded_again_and_purged_test_() ->
    {timeout, 300, fun() ->
        test_vm:with([], fun(Peer) ->
            Call = fun(Module, Function, Args) -> test_vm:call(Peer, Module, Function, Args) end,
            [
                begin
                    ok = Call(tailback_nif, sleep_yield, [100]),
                    {module, tailback_nif} = Call(code, load_file, [tailback_nif]),
                    true = Call(tailback_nif, available, []),
                    ok = Call(tailback_nif, busy, [100]),
                    false = Call(code, purge, [tailback_nif]),
                    true = Call(code, delete, [tailback_nif]),
                    false = Call(code, purge, [tailback_nif])
                end
             || _ <- [1, 2]
            ],
            ?assertEqual(true, Call(tailback_nif, available, []))
        end)
    end}.

without_its_library_it_says_so_test_() ->
    {timeout, 300, fun() ->
        in_copy(fun(Ebin) ->
            test_vm:with([], Ebin, fun(Peer) ->
                {false, Why} = test_vm:call(Peer, tailback_nif, available, []),
                ?assertNotEqual(nomatch, binary:match(Why, <<"no such file">>)),
                Asked = #{mode => nif_sleep, processes => 1, work => 1, calls => 1},
                {error, {nif_unavailable, Line}} = test_vm:call(Peer, wait, measure, [Asked]),
                ?assertNotEqual(nomatch, binary:match(Line, Why)),
                {ok, _} = test_vm:call(Peer, wait, measure, [Asked#{mode => bignum}]),
                ?assertError(
                    {exception, {not_loaded, tailback_nif}, _},
                    try
                        test_vm:call(Peer, tailback_nif, busy, [1])
                    catch
                        error:{exception, Reason, Stack} -> error({exception, Reason, Stack});
                        error:Reason -> error({exception, Reason, []})
                    end
                )
            end)
        end)
    end}.

the_reason_of_the_build_is_handed_on_test_() ->
    {timeout, 300, fun() ->
        in_copy(fun(Ebin) ->
            Why = filename:join([filename:dirname(Ebin), "priv", "tailback_nif.why"]),
            ok = filelib:ensure_dir(Why),
            ok = file:write_file(Why, "no C compiler (cc)\n"),
            test_vm:with([], Ebin, fun(Peer) ->
                ?assertEqual(
                    {false, <<"no C compiler (cc)">>}, test_vm:call(Peer, tailback_nif, available, [])
                )
            end)
        end)
    end}.

what_is_no_library_is_refused_in_the_words_of_the_vm_test_() ->
    {timeout, 300, fun() ->
        in_copy(fun(Ebin) ->
            Path = filename:join(filename:dirname(Ebin), "other"),
            ok = file:write_file(Path ++ ".so", "no library\n"),
            test_vm:with(["-env", "TAILBACK_NIF", Path], Ebin, fun(Peer) ->
                {false, Why} = test_vm:call(Peer, tailback_nif, available, []),
                ?assertNotEqual(nomatch, binary:match(Why, <<"refused by the VM">>)),
                ?assertEqual(nomatch, binary:match(Why, <<"\n">>))
            end)
        end)
    end}.

a_library_elsewhere_is_found_by_its_name_test_() ->
    {timeout, 300, fun() ->
        Path = filename:join([filename:dirname(test_vm:ebin()), "priv", "tailback_nif"]),
        in_copy(fun(Ebin) ->
            test_vm:with(["-env", "TAILBACK_NIF", Path], Ebin, fun(Peer) ->
                ?assertEqual(true, test_vm:call(Peer, tailback_nif, available, []))
            end)
        end)
    end}.

%% Applies a function to a copy of the modules without priv, in a temporary folder.
in_copy(Function) ->
    Unique = io_lib:format("tailback-~s-~b", [os:getpid(), erlang:unique_integer([positive])]),
    Folder = filename:join(os:getenv("TMPDIR", "/tmp"), lists:flatten(Unique)),
    Ebin = filename:join(Folder, "ebin"),
    ok = filelib:ensure_dir(filename:join(Ebin, "any")),
    try
        [
            {ok, _} = file:copy(Beam, filename:join(Ebin, filename:basename(Beam)))
         || Beam <- filelib:wildcard(filename:join(test_vm:ebin(), "*.beam"))
        ],
        Function(Ebin)
    after
        file:del_dir_r(Folder)
    end.
