%% @doc Sends messages to a server so that its queue is nearly empty and never quite.
%%
%% A lump of messages is sent while the one before it is being written, and no more than two lumps
%% are unanswered: so the server never waits for its feeder, and next to nothing waits for the
%% server.
-module(msgq_feeder).

-export([start_link/3, stop/1, feed/3, most/1]).

%% Messages that are sent at once.
-define(LUMP, 16).

%% @doc Feeds a server from a process of its own, linked to the caller.
-spec start_link(atom() | pid(), pos_integer(), msgq_senders:form()) -> pid().
start_link(Server, Writes, Form) ->
    spawn_link(fun() -> feed(Server, Writes, Form) end).

%% @doc Ends the feeder, however far it is.
-spec stop(pid()) -> ok.
stop(Pid) -> msgq_decoy:stop(Pid).

%% @doc Feeds a server and answers when all was written. The messages are those of sender 1.
-spec feed(atom() | pid(), pos_integer(), msgq_senders:form()) -> ok.
feed(Server, Writes, Form) ->
    feed(Server, 1, Writes, msgq_senders:payload(Form), none).

%% @doc The most that is ever queued, the two questions whether the lumps were written included.
-spec most(Writes :: pos_integer()) -> pos_integer().
most(Writes) -> min(Writes, 2 * ?LUMP) + 2.

feed(_, From, Writes, _, Asked) when From > Writes ->
    answered(Asked);
feed(Server, From, Writes, Payload, Asked) ->
    Last = min(Writes, From + ?LUMP - 1),
    Send = fun(Number) ->
        gen_server:cast(Server, {log, {1, Number}, msgq_senders:fresh(Payload)})
    end,
    ok = lists:foreach(Send, lists:seq(From, Last)),
    Asks = gen_server:send_request(Server, sync),
    ok = answered(Asked),
    feed(Server, Last + 1, Writes, Payload, Asks).

answered(none) ->
    ok;
answered(Asked) ->
    case gen_server:wait_response(Asked, infinity) of
        {reply, ok} -> ok;
        {error, {Why, _}} -> exit(Why)
    end.
