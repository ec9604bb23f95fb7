%% @doc Trials as the tool runs them: a load, and what is watched meanwhile.
-module(tailback_trial).

-export([blocking_nif/3]).

%% @doc Runs {@link wait:measure/1} beside a ticker of high priority, whose ticks are sent.
%%
%% A process of high priority passes every queue of ordinary ones, so that its ticks are late by
%% what could not be interrupted and by nothing else.
-spec blocking_nif(map(), TickMs :: pos_integer(), tailback_tell:tell()) ->
    {ok, map()} | {error, {atom(), binary()}}.
blocking_nif(Options, TickMs, Tell) ->
    Ticker = tailback_ticker:start(TickMs, Tell, high),
    try
        wait:measure(Options)
    after
        tailback_ticker:stop(Ticker)
    end.
