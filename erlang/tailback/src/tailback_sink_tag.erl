%% @private
%% @doc Writes by a message to another process and waits for an answer with a plain tag and no
%% reference. This common mistake makes a receive go through the whole mailbox.
-module(tailback_sink_tag).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

%% @private
-spec open(tailback_sink:spec()) -> {ok, pid()}.
open(tag) -> {ok, tailback_sink_peer:tag()}.

%% @private
-spec write(pid(), iodata()) -> {ok, pid()} | {closed, tailback_sink:fault()}.
write(Pid, Data) ->
    Pid ! {write, self(), Data},
    receive
        {written, ok} -> {ok, Pid};
        {'EXIT', Pid, Why} -> {closed, fault(peer_ended, Why)}
    after tailback_sink:limit() ->
        ok = close(Pid),
        {closed, fault(no_answer, timeout)}
    end.

%% @private
-spec close(pid()) -> ok.
close(Pid) -> tailback_sink_peer:stop(Pid).

-spec fault(atom(), term()) -> tailback_sink:fault().
fault(Name, Why) -> {Name, tailback_sink:error_line("tag", "process", Why)}.
