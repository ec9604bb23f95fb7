%% @private
%% @doc The lines that a run prints.
-module(wait_lines).

-export([print/2, use/2, refusal/1]).

%% @doc Prints an event. The dirty CPU queue is shown if the calls of the mode wait in it.
-spec print(wait_trial:event(), wait_schedulers:kind()) -> ok.
print(ready, _) ->
    io:format("Ready ... ");
print(go, _) ->
    io:format("go at ~p~n", [time()]);
print(sent, _) ->
    io:format("~p All go messages sent~n", [time()]);
print({status_loop, Seconds}, _) ->
    io:format("~p Start of status loop (~p secs since first go)~n", [time(), Seconds]);
print({monitor_loop, Seconds}, _) ->
    io:format("~p Start of monitor loop (~p secs since first go)~n", [time(), Seconds]);
print({changed, Time, Balance, {Normal, DirtyCpu, _}}, dirty_cpu) ->
    io:format("~p ~p ~w dirty cpu ~w~n", [Time, Balance, list_to_tuple(Normal), DirtyCpu]);
print({changed, Time, Balance, {Normal, _, _}}, _) ->
    io:format("~p ~p ~w~n", [Time, Balance, list_to_tuple(Normal)]);
print(finished, _) ->
    ok.

%% @doc Prints the use of the normal schedulers, and of the dirty CPU schedulers if the calls of
%% the mode run on them.
-spec use([{pos_integer(), float()}], [{pos_integer(), float()}]) -> ok.
use(Normal, Dirty) ->
    io:format("~n~nSWT results (utilization per scheduler)~n~p~n", [Normal]),
    case Dirty of
        [] -> ok;
        _ -> io:format("Dirty CPU schedulers~n~p~n", [Dirty])
    end.

%% @doc Prints why the run was refused.
-spec refusal({atom(), binary()}) -> ok.
refusal({_, Line}) ->
    io:format("wait: ~ts~n", [Line]).
