%% @private
%% @doc Sends messages to a server and keeps its queue nearly empty, but never empty.
%%
%% While the server writes one lump of messages, the feeder sends the next one. At most two lumps
%% are unanswered. So the server never waits for its feeder, and almost nothing waits for the
%% server.
-module(msgq_feeder).

-export([start_link/3, stop/1, feed/3, most/1]).

%% Messages in one lump.
-define(LUMP, 16).

%% @doc Feeds a server from a new process that is linked to the caller.
-spec start_link(atom() | pid(), pos_integer(), msgq_senders:form()) -> pid().
start_link(Server, Writes, Form) ->
    spawn_link(fun() -> feed(Server, Writes, Form) end).

%% @doc Ends the feeder, even if it has not sent everything.
-spec stop(pid()) -> ok.
stop(Pid) -> msgq_decoy:stop(Pid).

%% @doc Feeds a server and returns when all messages are written. They are numbered as messages of
%% sender 1.
-spec feed(atom() | pid(), pos_integer(), msgq_senders:form()) -> ok.
feed(Server, Writes, Form) ->
    feed(Server, 1, Writes, msgq_senders:payload(Form), none).

%% @doc Most messages that are ever queued, including the `sync' requests after the two lumps.
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
