%% @private
%% @doc Writes by a call to another process. A call makes a reference and waits for it, so the VM
%% skips what was already in the mailbox: the cost is flat, whatever the length.
-module(tailback_sink_gen_server).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

%% @private
-spec open(tailback_sink:spec()) -> {ok, pid()} | {error, tailback_sink:fault()}.
open(gen_server) ->
    case tailback_sink_peer:server() of
        {ok, Pid} -> {ok, Pid};
        {error, Why} -> {error, fault("start", Why)}
    end.

%% @private
-spec write(pid(), iodata()) -> {ok, pid()} | {closed, tailback_sink:fault()}.
write(Pid, Data) ->
    try gen_server:call(Pid, {write, Data}, tailback_sink:limit()) of
        ok -> {ok, Pid}
    catch
        exit:{Why, _} ->
            ok = close(Pid),
            {closed, fault("call", Why)}
    end.

%% @private
-spec close(pid()) -> ok.
close(Pid) -> tailback_sink_peer:stop(Pid).

-spec fault(iodata(), term()) -> tailback_sink:fault().
fault(What, Why) -> {call_failed, tailback_sink:error_line("gen_server", What, Why)}.
