%% @doc How evenly work is spread over run queues. Pure.
%%
%% With `Z' queues of length zero out of `N':
%%
%% <ul>
%% <li>`even': `Z' is 0;</li>
%% <li>`minority_zero': `Z' is at most `N / 2';</li>
%% <li>`unbalanced': otherwise.</li>
%% </ul>
%%
%% The ratio is the longest queue divided by the median queue, cut off after two decimals. If `N'
%% is even, the median is the lower of the two middle lengths. If `N' is odd, it is the length
%% just below the middle one. A median of 0 counts as 1. A single queue is its own median.
%%
%% A queue of length zero does not mean an idle scheduler: the process that runs is in no queue.
-module(wait_balance).

-export([balance/1]).
-export_type([class/0, balance/0, queues/0]).

-type class() :: even | minority_zero | unbalanced.
-type balance() :: {class(), Ratio :: float()}.
-type queues() :: [non_neg_integer(), ...].

%% @doc Class and ratio of the queues of the online schedulers.
-spec balance(queues()) -> balance().
balance([_ | _] = Queues) ->
    {class(Queues), ratio(Queues)}.

-spec class(queues()) -> class().
class(Queues) ->
    case length([zero || 0 <- Queues]) of
        0 -> even;
        Zeros when 2 * Zeros =< length(Queues) -> minority_zero;
        _ -> unbalanced
    end.

-spec ratio(queues()) -> float().
ratio(Queues) ->
    Middle = max(1, length(Queues) div 2),
    Median = max(1, lists:nth(Middle, lists:sort(Queues))),
    trunc(100 * lists:max(Queues) / Median) / 100.
