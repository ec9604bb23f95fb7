%% Starts a server and the dam in front of it.
-module(demo_app).

-behaviour(application).
-behaviour(supervisor).

-export([start/2, prep_stop/1, stop/1, init/1]).

start(_Type, _Arguments) ->
    supervisor:start_link({local, demo_sup}, ?MODULE, []).

%% The supervisor would end the server and the dam with all that waits in it. So deliver it first.
prep_stop(State) ->
    _ = tailback_dam:stop(line_dam, 5000),
    State.

stop(_State) ->
    ok.

%% The dam comes first and outlives a restart of the server, so its messages are not lost. It is
%% transient, so that it is not started again after tailback_dam:stop. The supervisor allows more
%% restarts than the dam needs to give up a message that ends its server.
init([]) ->
    Dam = #{
        id => line_dam,
        start => {tailback_dam, start_link, [line_dam, line_server]},
        restart => transient
    },
    Server = #{id => line_server, start => {line_server, start_link, []}},
    {ok, {#{strategy => rest_for_one, intensity => 10}, [Dam, Server]}}.
