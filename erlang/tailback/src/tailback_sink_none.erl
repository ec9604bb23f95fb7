%% @private
%% @doc The sink that writes nothing. It shows what the server itself costs.
-module(tailback_sink_none).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

%% @private
-spec open(tailback_sink:spec()) -> {ok, none}.
open(none) -> {ok, none}.

%% @private
-spec write(none, iodata()) -> {ok, none}.
write(none, _) -> {ok, none}.

%% @private
-spec close(none) -> ok.
close(none) -> ok.
