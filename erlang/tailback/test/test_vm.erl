%% Separate nodes for a test, driven over their standard input, so without distribution or epmd.
-module(test_vm).

-export([with/2, with/3, call/4, ebin/0]).

-define(CALL_MS, 120000).

%% Starts a node with these emulator flags, applies a function to it, and stops the node.
with(Flags, Function) ->
    with(Flags, ebin(), Function).

with(Flags, Ebin, Function) ->
    {ok, Peer, _} = peer:start(#{
        connection => standard_io, args => Flags ++ ["-pa", Ebin], wait_boot => 120000
    }),
    try
        Function(Peer)
    after
        peer:stop(Peer)
    end.

call(Peer, Module, Function, Args) ->
    peer:call(Peer, Module, Function, Args, ?CALL_MS).

%% The folder of the modules under test.
ebin() ->
    filename:dirname(filename:absname(code:which(wait))).
