%% The credit dam under a real flood, in front of the sink that shows the collapse.
-module(msgq_dam_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, suite/0]).
-export([each_message_once_and_in_order/1, nothing_accepted_is_lost_when_the_server_is_killed/1]).
-export([more_senders_than_the_bound/1]).

suite() -> [{timetrap, {seconds, 180}}].

all() ->
    [
        each_message_once_and_in_order,
        nothing_accepted_is_lost_when_the_server_is_killed,
        more_senders_than_the_bound
    ].

-define(BOUND, 1000).

each_message_once_and_in_order(_) ->
    {ok, Result} = msgq_flood:measure(#{
        dam => credit, senders => 100, messages => 3000, timeout_ms => 170000, sample_ms => 10
    }),
    ?assertMatch(
        #{
            outcome := drained,
            drained := 300000,
            sent := 300000,
            lost := 0,
            duplicated := 0,
            out_of_order := 0,
            failed := 0
        },
        Result
    ),
    bounded(Result).

bounded(#{both_queues_high := Sampled, dam_info := Info}) ->
    #{mailboxes_high := Own, capacity := Capacity} = Info,
    ct:pal("mailboxes: sampled ~b, by the dam itself ~b, table ~b", [Sampled, Own, Capacity]),
    ?assert(Sampled + Capacity =< ?BOUND),
    ?assert(Own + Capacity =< ?BOUND).

nothing_accepted_is_lost_when_the_server_is_killed(_) ->
    {ok, Result} = msgq_flood:measure(#{
        dam => credit,
        senders => 100,
        messages => 500,
        timeout_ms => 60000,
        sample_ms => 5,
        kill_after_ms => [50, 150, 250, 400]
    }),
    #{killed := Killed, dam_info := Info, duplicated := Twice} = Result,
    #{redelivered := Again, restarts := Restarts} = Info,
    ct:pal("killed ~b, redelivered ~b, duplicated ~b", [Killed, Again, Twice]),
    ?assert(Killed > 0),
    %% If the server is killed before the dam has seen it, no separate restart is counted.
    ?assert(Restarts > 0 andalso Restarts =< Killed),
    ?assertMatch(#{outcome := drained, drained := 50000, lost := 0, out_of_order := 0}, Result),
    %% Each kill causes redelivery of at most one window.
    ?assert(Again =< 64 * Killed),
    ?assert(Twice =< Again),
    bounded(Result).

more_senders_than_the_bound(_) ->
    {ok, Result} = msgq_flood:measure(#{
        dam => credit, senders => 10000, messages => 3, timeout_ms => 60000, sample_ms => 5
    }),
    ?assertMatch(#{outcome := drained, lost := 0, duplicated := 0, out_of_order := 0}, Result),
    #{dam_held_high := Held} = Result,
    %% The messages did wait, but in no mailbox.
    ?assert(Held > ?BOUND),
    bounded(Result).
