%% Tests that need a node with its own flags and take a second or more.
-module(wait_vm_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([
    the_process_limit_is_refused_with_its_remedy/1,
    a_hundred_thousand_processes_finish/1,
    a_short_recipe_ends_in_a_verdict/1,
    one_scheduler_is_inconclusive/1,
    waking_schedulers_is_a_remedy/1
]).

suite() ->
    [{timetrap, {minutes, 2}}].

all() ->
    [
        the_process_limit_is_refused_with_its_remedy,
        a_hundred_thousand_processes_finish,
        a_short_recipe_ends_in_a_verdict,
        one_scheduler_is_inconclusive,
        waking_schedulers_is_a_remedy
    ].

the_process_limit_is_refused_with_its_remedy(_Config) ->
    Asked = #{mode => bignum, processes => 1000000, work => 1, calls => 1},
    test_vm:with([], fun(Peer) ->
        {error, {too_many_processes, Line}} = test_vm:call(Peer, wait, measure, [Asked]),
        {match, [Needed]} = re:run(Line, "erl \\+P ([0-9]+)", [{capture, [1], list}]),
        %% The value named in the refusal is enough.
        test_vm:with(["+P", Needed], fun(Larger) ->
            {ok, _} = test_vm:call(Larger, wait_options, check, [Asked])
        end)
    end).

a_hundred_thousand_processes_finish(_Config) ->
    test_vm:with(["+P", "200000"], fun(Peer) ->
        {ok, Result} = test_vm:call(Peer, wait, measure, [
            #{mode => bignum, processes => 100000, work => 1, calls => 1}
        ]),
        ?assertEqual(100000, length(maps:get(run_times_us, Result)))
    end).

short() ->
    #{runs => 1, pause_ms => 100, processes => 20, work => 20000, calls => 2, online => 2}.

a_short_recipe_ends_in_a_verdict(_Config) ->
    test_vm:with(["+S", "4:4"], fun(Peer) ->
        {Verdict, Details} = test_vm:call(Peer, wait, collapse, [short()]),
        ?assert(lists:member(Verdict, [collapse, no_collapse, inconclusive])),
        #{runs := [First, Last], reason := Reason} = Details,
        ?assert(is_binary(Reason)),
        ?assertMatch(#{schedulers_online := 4}, First),
        ?assertMatch(#{schedulers_online := 2}, Last),
        ?assertEqual(4, test_vm:call(Peer, erlang, system_info, [schedulers_online]))
    end).

one_scheduler_is_inconclusive(_Config) ->
    test_vm:with(["+S", "1:1"], fun(Peer) ->
        Options = maps:remove(online, short()),
        {inconclusive, #{reason := Reason}} = test_vm:call(Peer, wait, collapse, [Options]),
        ?assertNotEqual(nomatch, binary:match(Reason, <<"one scheduler">>))
    end).

%% With a forced wake-up every 10 ms no scheduler can sleep for most of a run. On a busy machine,
%% one run may look like a collapse, so three in a row count.
waking_schedulers_is_a_remedy(_Config) ->
    test_vm:with(["+S", "2:2", "+sfwi", "10"], fun(Peer) ->
        IsCollapse = fun(_) ->
            {Verdict, _} = test_vm:call(Peer, wait, collapse, [short()]),
            Verdict =:= collapse
        end,
        ?assertNot(lists:all(IsCollapse, lists:seq(1, 3)))
    end).
