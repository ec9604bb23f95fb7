-module(wait_balance_tests).

-include_lib("eunit/include/eunit.hrl").

-define(LONGEST, 4).

%% Every vector of up to six queues with lengths up to 4, compared with another form of the
%% definition.
small_vectors_test_() ->
    [
        {integer_to_list(N) ++ " queues",
            {timeout, 300, fun() -> lists:foreach(fun same/1, vectors(N)) end}}
     || N <- lists:seq(1, 6)
    ].

vectors(0) -> [[]];
vectors(N) -> [[Length | Rest] || Length <- lists:seq(0, ?LONGEST), Rest <- vectors(N - 1)].

same(Queues) ->
    ?assertEqual({class(Queues), hundredths(Queues) / 100}, wait_balance:balance(Queues)).

class(Queues) ->
    Busy = [Length || Length <- Queues, Length > 0],
    Idle = length(Queues) - length(Busy),
    if
        Busy =:= Queues -> even;
        Idle =< length(Busy) -> minority_zero;
        Idle > length(Busy) -> unbalanced
    end.

%% The longest queue divided by the median, in whole hundredths. The median is the smallest length
%% that at least half of the queues, rounded down, do not exceed.
hundredths(Queues) ->
    Needed = max(1, length(Queues) div 2),
    Median = hd([
        Length
     || Length <- lists:seq(0, ?LONGEST),
        length([Q || Q <- Queues, Q =< Length]) >= Needed
    ]),
    100 * lists:max(Queues) div max(1, Median).

published_examples_test_() ->
    [
        ?_assertEqual(Balance, wait_balance:balance(Queues))
     || {Balance, Queues} <- [
            {{unbalanced, 105.0}, [0, 0, 0, 0, 16, 105, 1, 0]},
            {{even, 1.02}, [37, 37, 36, 38, 37, 38, 18, 38]},
            {{minority_zero, 1.38}, [49, 49, 49, 50, 48, 68, 0, 19]},
            {{minority_zero, 5.66}, [0, 12, 36, 50, 30, 68, 0, 0]},
            {{unbalanced, 62.0}, [0, 0, 0, 0, 0, 62, 0, 0]}
        ]
    ].

order_does_not_matter_test() ->
    rand:seed(exsss, 1),
    [
        begin
            Queues = [rand:uniform(50) - 1 || _ <- lists:seq(1, rand:uniform(64))],
            ?assertEqual(wait_balance:balance(Queues), wait_balance:balance(lists:reverse(Queues)))
        end
     || _ <- lists:seq(1, 200)
    ].

no_queue_is_refused_test() ->
    ?assertError(function_clause, wait_balance:balance([])).
