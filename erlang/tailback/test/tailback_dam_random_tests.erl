%% Random schedules of senders, kills of senders and kills of the server, compared with the
%% promises of a dam. A message that was answered with ok arrives, in the order of its sender. A
%% refused message does not arrive.
-module(tailback_dam_random_tests).

-include_lib("eunit/include/eunit.hrl").

-define(DAM, random_dam).

schedules_test_() ->
    {timeout, 300, [
        {"seed " ++ integer_to_list(Seed), {timeout, 300, fun() -> run(Seed) end}}
     || Seed <- lists:seq(1, 25)
    ]}.

run(Seed) ->
    rand:seed(exsss, Seed),
    Window = 3 + rand:uniform(20),
    Policy = lists:nth(rand:uniform(2), [block, drop_new]),
    Bound = 3 * Window + 32 + rand:uniform(40),
    Seen = tailback_dam_probe:new(),
    Said = ets:new(said, [public]),
    {ok, Dam} = tailback_dam:start_link(?DAM, probe, #{
        window => Window, bound => Bound, policy => Policy
    }),
    Keeper = spawn_link(fun() -> keep(Seen) end),
    Senders = [spawn_sender(I, rand:uniform(1 bsl 32), Said) || I <- lists:seq(1, rand:uniform(8))],
    [disturb(rand:uniform(3), Senders) || _ <- lists:seq(1, rand:uniform(12))],
    [await(Sender) || Sender <- Senders],
    ok = tailback_dam:flush(?DAM, 100000),
    {ok, Info} = tailback_dam:info(?DAM),
    [tailback_dam_probe:end_process(Pid) || Pid <- [Keeper, whereis(probe), Dam]],
    check(Said, tailback_dam_probe:seen(Seen), Info, Bound).

keep(Seen) ->
    case whereis(probe) of
        undefined -> tailback_dam_probe:start(Seen);
        _ -> ok
    end,
    timer:sleep(1),
    keep(Seen).

spawn_sender(I, Seed, Said) ->
    spawn_monitor(fun() ->
        rand:seed(exsss, Seed),
        send(I, 1, 50 + rand:uniform(200), Said)
    end).

send(_, N, Last, _) when N > Last ->
    ok;
send(I, N, Last, Said) ->
    ets:insert(Said, {{I, N}, offered}),
    Answer =
        case rand:uniform(20) of
            1 -> tailback_dam:deliver(?DAM, {I, N});
            2 -> tailback_dam:cast(?DAM, {I, N}, rand:uniform(3) - 1);
            _ -> tailback_dam:cast(?DAM, {I, N})
        end,
    ets:insert(Said, {{I, N}, Answer}),
    send(I, N + 1, Last, Said).

disturb(1, Senders) ->
    {Pid, _} = lists:nth(rand:uniform(length(Senders)), Senders),
    exit(Pid, kill);
disturb(2, _) ->
    %% The keeper starts the server again.
    case whereis(probe) of
        undefined -> ok;
        Pid -> exit(Pid, kill)
    end;
disturb(3, _) ->
    timer:sleep(rand:uniform(4) - 1).

await({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, Why} -> ?assert(lists:member(Why, [normal, killed, noproc]))
    after 100000 -> error({hangs, process_info(Pid, current_stacktrace)})
    end.

check(Said, Seen, Info, Bound) ->
    Distinct = lists:usort(Seen),
    Ok = [Key || {Key, ok} <- ets:tab2list(Said)],
    Refused = [Key || {Key, {error, _}} <- ets:tab2list(Said)],
    ?assertEqual([], Ok -- Distinct),
    ?assertEqual([], [Key || Key <- Refused, lists:member(Key, Distinct)]),
    Senders = lists:usort([I || {I, _} <- Distinct]),
    [?assertEqual(numbers(I, Distinct), first_comings(I, Seen)) || I <- Senders],
    #{redelivered := Again, mailboxes_high := High, delivered := Delivered} = Info,
    ?assert(length(Seen) - length(Distinct) =< Again),
    ?assertEqual(length(Distinct), Delivered),
    ?assert(High =< Bound).

numbers(I, Keys) -> [N || {J, N} <- Keys, J =:= I].

first_comings(I, Seen) -> first(numbers(I, Seen), []).

first([], Before) -> lists:reverse(Before);
first([N | Rest], Before) ->
    case lists:member(N, Before) of
        true -> first(Rest, Before);
        false -> first(Rest, [N | Before])
    end.
