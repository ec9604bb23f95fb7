%% An ordinary gen_server. It keeps the lines in memory, and knows nothing of the dam.
-module(line_server).

-behaviour(gen_server).

-export([start_link/0, count/0]).
-export([init/1, handle_call/3, handle_cast/2]).

start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% How many lines have come.
count() ->
    gen_server:call(?MODULE, count).

init([]) ->
    {ok, []}.

handle_call(count, _From, Lines) ->
    {reply, length(Lines), Lines}.

handle_cast({line, Line}, Lines) ->
    {noreply, [Line | Lines]}.
