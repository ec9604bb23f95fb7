-module(wait_sampler_tests).

-include_lib("eunit/include/eunit.hrl").

a_sampler_that_never_went_saw_nothing_test_() ->
    {timeout, 300, fun a_sampler_that_never_went_saw_nothing/0}.

a_sampler_that_never_went_saw_nothing() ->
    Pid = wait_sampler:start(10),
    ?assertMatch(#{samples := []}, wait_sampler:stop(Pid)),
    ?assertNot(is_process_alive(Pid)).

samples_are_in_order_and_counted_test_() ->
    {timeout, 300, fun samples_are_in_order_and_counted/0}.

samples_are_in_order_and_counted() ->
    Pid = wait_sampler:start(1),
    ok = wait_sampler:go(Pid, erlang:monotonic_time()),
    timer:sleep(50),
    #{samples := Samples, class_counts := Counts} = wait_sampler:stop(Pid),
    Times = [At || {At, _, _, _} <- Samples],
    ?assertEqual(lists:sort(Times), Times),
    ?assertEqual(length(Samples), lists:sum(maps:values(Counts))),
    Online = erlang:system_info(schedulers_online),
    [?assertEqual(Online, length(Normal)) || {_, Normal, _, _} <- Samples].

changes_are_sent_test_() ->
    {timeout, 300, fun changes_are_sent/0}.

changes_are_sent() ->
    Pid = wait_sampler:start(1),
    ok = wait_sampler:go(Pid, erlang:monotonic_time()),
    receive
        {changed, {_, _, _}, {_, _}, {_, _, _}} -> ok
    end,
    _ = wait_sampler:stop(Pid).
