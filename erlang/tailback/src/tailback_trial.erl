%% @private
%% @doc Trials as the tool runs them: a load, and the measurement that runs beside it.
-module(tailback_trial).

-export([blocking_nif/3]).

%% @doc Runs {@link wait:measure/1} beside a ticker of high priority, and sends its ticks to
%% `Tell'.
%%
%% A process of high priority runs before all ordinary ones. So only what could not be interrupted
%% makes its ticks late.
-spec blocking_nif(map(), TickMs :: pos_integer(), tailback_tell:tell()) ->
    {ok, map()} | {error, {atom(), binary()}}.
blocking_nif(Options, TickMs, Tell) ->
    Ticker = tailback_ticker:start(TickMs, Tell, high),
    try
        wait:measure(Options)
    after
        tailback_ticker:stop(Ticker)
    end.
