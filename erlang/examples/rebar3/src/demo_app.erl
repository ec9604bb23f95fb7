%% Starts a server and the dam in front of it.
-module(demo_app).

-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1, init/1]).

start(_Type, _Arguments) ->
    supervisor:start_link({local, demo_sup}, ?MODULE, []).

stop(_State) ->
    ok.

%% The dam comes first and outlives a restart of the server, so its messages are not lost.
init([]) ->
    Dam = #{id => line_dam, start => {tailback_dam, start_link, [line_dam, line_server]}},
    Server = #{id => line_server, start => {line_server, start_link, []}},
    {ok, {#{strategy => rest_for_one}, [Dam, Server]}}.
