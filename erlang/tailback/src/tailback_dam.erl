%% @doc A dam: put it in front of a server that is slower than its senders.
%%
%% The messages that a server cannot handle in time pile up in its mailbox. The mailbox takes
%% memory without limit. It also makes the server slower, since some operations of the VM go
%% through the whole mailbox each time. A dam is a process that keeps the mailbox short. Messages
%% wait in a bounded table, and when it is full, senders wait too. The server need not change.
%%
%% <h2>An example</h2>
%% `log_server' is an ordinary gen_server. Start the dam before it, so that the dam outlives a
%% restart of the server:
%%
%% ```
%% init([]) ->
%%     Dam = #{
%%         id => log_dam,
%%         start => {tailback_dam, start_link, [log_dam, log_server]},
%%         restart => transient
%%     },
%%     Server = #{id => log_server, start => {log_server, start_link, []}},
%%     {ok, {#{strategy => rest_for_one, intensity => 10}, [Dam, Server]}}.
%% '''
%%
%% In a supervisor of Elixir:
%%
%% ```
%% children = [
%%   %{
%%     id: :log_dam,
%%     start: {:tailback_dam, :start_link, [:log_dam, LogServer]},
%%     restart: :transient
%%   },
%%   LogServer
%% ]
%% Supervisor.start_link(children, strategy: :rest_for_one, max_restarts: 10)
%% '''
%%
%% Senders call the dam in place of `gen_server:cast/2':
%%
%% ```
%% ok = tailback_dam:cast(log_dam, {log, Line}).
%% '''
%%
%% The supervisor has to allow more restarts than the dam needs to give up a message that ends its
%% server: at least `attempts' and two more. Otherwise it ends first, and the dam with it.
%%
%% When the application ends, its supervisor ends the server first and then the dam, and what waits
%% in the dam is lost. So deliver it before, in `prep_stop/1' of the application. The dam is
%% `transient', so that the supervisor does not start it again after {@link stop/2}:
%%
%% ```
%% prep_stop(State) ->
%%     _ = tailback_dam:stop(log_dam, 5000),
%%     State.
%% '''
%%
%% <h2>Which function to call</h2>
%% <ul>
%% <li>{@link cast/2} returns when the dam has accepted the message. {@link urgent/2}: the same, but
%%     the message goes ahead of others.</li>
%% <li>{@link deliver/2} returns when the server has handled the message.</li>
%% <li>{@link flush/1} returns when the server has handled all that was accepted before.</li>
%% <li>{@link info/1} returns figures: how many messages wait, how many were handled, and more.</li>
%% </ul>
%% All but {@link info/1} may wait without limit. With a limit in milliseconds as the last argument,
%% as in {@link cast/3}, they wait no longer than that. A negative limit fails with
%% `function_clause', and nothing is accepted. An error is `{error, Reason}', and {@link explain/1}
%% says the reason in a line.
%%
%% <h2>What is promised</h2>
%% <ul>
%% <li>`cast' or `urgent' returns `ok': the message is accepted. The dam hands it to the server,
%%     in the order in which this sender's messages of the same lane were accepted. After a
%%     restart of the server the dam hands it over again, until the server has handled it. It is
%%     lost only if the dam dies, by the policy `drop_old', if it comes to a suspended server that
%%     dies before it has handled it, or if it ends its server again and again (see below).</li>
%% <li>`deliver' returns `ok': the server took the message out of its mailbox, and its callback
%%     returned.</li>
%% <li>At least once: when the server dies, up to `window' messages that it had handled but not
%%     confirmed are handed over a second time. If that matters, give messages an identity.</li>
%% <li>Dam and server together never hold more than `bound' accepted messages, and neither do
%%     their mailboxes. A message of a sender that waits for room counts as held by the sender:
%%     one for each sender. If a sender dies while it waits, its message may be handed over or
%%     not. While there is no room, the dam removes such messages.</li>
%% </ul>
%%
%% <h2>A message that ends its server</h2>
%% After a restart of the server, the dam first hands over the messages that were in flight, one at
%% a time. If the server ends each time at the same message, in `attempts' ends in a row, the dam
%% gives this message up: {@link info/1} counts it as `poisoned'. A crash counts, and so do the
%% exit reasons `normal' and `{shutdown, _}': do not send a message through the dam that tells the
%% server to stop. Ends from outside do not count: `shutdown' and `killed'. The VM gives the reason
%% `killed' also to a server that exceeds its `max_heap_size' with `kill'. A message that does this
%% each time is never given up, and blocks all others.
%%
%% <h2>What it needs</h2>
%% Senders live on the node of the dam. The server is a gen_server or another process that answers
%% system messages (see the module `sys'). From the answers the dam learns which messages the
%% server has handled. So the server must handle messages and system messages in the order of its
%% mailbox. It must neither postpone messages nor move them to a queue of its own. So a gen_statem
%% that postpones does not fit. Neither does the `gen_server2' of RabbitMQ, which handles system
%% messages first. A suspended server answers them early: then `deliver' means "in its mailbox",
%% which stays bounded. What came while the server was suspended is lost if it dies before it has
%% handled it.
%%
%% The server, and code that it waits for, must not use its own dam: `deliver' and `flush' wait for
%% the server, so they never return, and neither does `cast' when there is no room.
%%
%% docs/dam.md in the repository says how it works, and what it costs.
-module(tailback_dam).

-export([start_link/2, start_link/3, stop/1, stop/2]).
-export([cast/2, cast/3, urgent/2, urgent/3, deliver/2, deliver/3, flush/1, flush/2]).
-export([handle/1, info/1, connect/1, accept_urgent/1, explain/1]).

-export_type([dam/0, handle/0, server/0, options/0, policy/0, reason/0]).

-type dam() :: atom() | handle().
%% The name of a dam, or its handle.

-opaque handle() :: tailback_dam_queue:handle().
%% What a sender needs to reach a dam. See {@link handle/1}.

-type server() :: pid() | atom() | {global, term()} | {via, module(), term()}.
%% The process behind the dam.

-type options() :: #{
    bound => pos_integer(),
    window => pos_integer(),
    policy => policy(),
    as => cast | info,
    gone_after => non_neg_integer() | infinity,
    attempts => pos_integer() | infinity
}.
%% <ul>
%% <li>`bound': most messages that dam and server hold together (default 1000).</li>
%% <li>`window': most messages in flight to the server (default 64, at least 4). `bound' has to be
%%     more than three times as much, plus 32.</li>
%% <li>`policy': what happens when there is no room (default `block').</li>
%% <li>`as': whether the server gets its messages in `handle_cast' or in `handle_info' (default
%%     `cast').</li>
%% <li>`gone_after': milliseconds without a server after which senders get an error (default
%%     5000). A server that ends before its `init' has returned does not count as one.</li>
%% <li>`attempts': how often in a row the server may end at a message that it got again, alone,
%%     before the dam gives this message up (default 3). The first end, after which the dam hands
%%     the message over again, does not count.</li>
%% </ul>

-type policy() :: block | drop_new | drop_old.
%% What happens when there is no room. `block': the sender waits. `drop_new': the sender gets
%% `{error, dropped}'. `drop_old': the oldest waiting message is dropped, an urgent one only if no
%% other waits. Only a sender that waits in {@link deliver/2} learns of it, by `{error, dropped}'.

-type reason() :: no_dam | dam_down | server_gone | closing | dropped | timeout | poisoned.
%% Why a message was not accepted or delivered. {@link explain/1} says it in a line.

%% The limits that a receive takes. Any other would fail there, when the message is in the table.
-define(IS_LIMIT(Ms),
    (Ms =:= infinity orelse (is_integer(Ms) andalso Ms >= 0 andalso Ms =< 16#ffffffff))
).

%% @equiv start_link(Name, Server, #{})
-spec start_link(atom(), tailback_dam:server()) -> {ok, pid()} | {error, term()}.
start_link(Name, Server) -> start_link(Name, Server, #{}).

%% @doc Starts a dam under a name, linked to the caller. The server need not run yet. A server
%% given by name may be restarted at any time, and so may the registry that has the name. A server
%% given by pid cannot come back, but the connection to its node can. Errors:
%% `{bad_option, Line}', `{already_started, Pid}', `{name_taken, Line}'.
-spec start_link(atom(), tailback_dam:server(), options()) ->
    {ok, pid()} | {error, {already_started, pid()} | {bad_option | name_taken, binary()} | term()}.
start_link(Name, Server, Options) when is_atom(Name), is_map(Options) ->
    case {tailback_dam_options:check(Options), whereis(Name), ets:whereis(Name)} of
        {{error, Line}, _, _} ->
            {error, {bad_option, Line}};
        {_, Pid, _} when is_pid(Pid) ->
            {error, {already_started, Pid}};
        {{ok, Checked}, undefined, undefined} ->
            tailback_dam_server:start_link(Name, Server, Checked);
        _ ->
            Format = "dam ~ts: an ETS table has this name; choose another",
            {error, {name_taken, tailback_dam_text:line(Format, [Name])}}
    end.

%% @equiv stop(Dam, 5000)
-spec stop(dam()) -> {ok, #{undelivered := non_neg_integer()}} | {error, reason()}.
stop(Dam) -> stop(Dam, 5000).

%% @doc Refuses new messages, waits up to `Limit' milliseconds until the server has handled the
%% accepted ones, and ends the dam. Returns how many messages could not be delivered. The name of
%% the dam is free then.
-spec stop(dam(), timeout()) -> {ok, #{undelivered := non_neg_integer()}} | {error, reason()}.
stop(Dam, Limit) when ?IS_LIMIT(Limit) ->
    try
        Handle = tailback_dam_queue:handle(Dam),
        tailback_dam_queue:set_state(Handle, closing),
        _ = flush(Handle, Limit),
        Pid = tailback_dam_queue:dam(Handle),
        Left = gen_server:call(Pid, stop, 5000),
        ok = await_end(Pid),
        {ok, #{undelivered => Left}}
    catch
        error:badarg -> {error, no_dam};
        exit:{timeout, _} -> {error, timeout};
        exit:_ -> {error, dam_down}
    end.

%% A gen_server that stops answers a moment before it ends.
-spec await_end(pid()) -> ok.
await_end(Pid) ->
    Monitor = monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

%% @equiv cast(Dam, Message, infinity)
-spec cast(dam(), term()) -> ok | {error, reason()}.
cast(Dam, Message) -> cast(Dam, Message, infinity).

%% @doc Gives a message to the dam. A caller that finds no room waits until the dam has taken its
%% message, at most `Timeout' milliseconds. If there is room by then, the message is accepted. Else
%% the answer is `{error, timeout}', and the message is certain not to be delivered.
-spec cast(dam(), term(), timeout()) -> ok | {error, reason()}.
cast(Dam, Message, Timeout) when ?IS_LIMIT(Timeout) ->
    tailback_dam_sender:submit(Dam, normal, accept, {message, Message}, Timeout).

%% @equiv urgent(Dam, Message, infinity)
-spec urgent(dam(), term()) -> ok | {error, reason()}.
urgent(Dam, Message) -> urgent(Dam, Message, infinity).

%% @doc As {@link cast/3}, but ahead of all messages that wait in the normal lane. Messages in
%% flight to the server, at most `window', stay ahead of it, unless the server called
%% {@link accept_urgent/1}.
-spec urgent(dam(), term(), timeout()) -> ok | {error, reason()}.
urgent(Dam, Message, Timeout) when ?IS_LIMIT(Timeout) ->
    tailback_dam_sender:submit(Dam, urgent, accept, {message, Message}, Timeout).

%% @equiv deliver(Dam, Message, infinity)
-spec deliver(dam(), term()) -> ok | {error, reason()}.
deliver(Dam, Message) -> deliver(Dam, Message, infinity).

%% @doc As {@link cast/3}, but returns when the server has handled the message. After
%% `{error, timeout}' or `{error, server_gone}' the message may still be delivered.
-spec deliver(dam(), term(), timeout()) -> ok | {error, reason()}.
deliver(Dam, Message, Timeout) when ?IS_LIMIT(Timeout) ->
    tailback_dam_sender:submit(Dam, normal, confirm, {message, Message}, Timeout).

%% @equiv flush(Dam, infinity)
-spec flush(dam()) -> ok | {error, reason()}.
flush(Dam) -> flush(Dam, infinity).

%% @doc Returns when the server has handled everything that was accepted before this call.
-spec flush(dam(), timeout()) -> ok | {error, reason()}.
flush(Dam, Timeout) when ?IS_LIMIT(Timeout) ->
    tailback_dam_sender:flush(Dam, Timeout).

%% @doc Returns a handle that a frequent sender may use in place of the name. It is valid as long
%% as this dam lives: after `{error, no_dam}' or `{error, closing}' take a new one. A handle of an
%% earlier dam never reaches a later one of the same name.
-spec handle(atom()) -> {ok, handle()} | {error, no_dam}.
handle(Name) ->
    try
        {ok, tailback_dam_queue:handle(Name)}
    catch
        error:badarg -> {error, no_dam}
    end.

%% @doc Makes the dam look for its server at once, without waiting for the next try. `up' means that
%% there is such a process, as far as this node knows: the node of a remote pid may have gone. The
%% server gets messages as soon as its `init' has returned.
-spec connect(atom()) -> up | down | {error, no_dam}.
connect(Name) ->
    try
        gen_server:call(Name, connect)
    catch
        exit:_ -> {error, no_dam}
    end.

%% @doc The server itself calls this at each start. If the VM has priority messages (OTP 28 and
%% later), urgent messages then also go ahead of what is in the mailbox of the server.
-spec accept_urgent(atom()) -> ok | unsupported.
accept_urgent(Name) -> tailback_dam_urgent:accept(Name).

%% @doc The figures of the dam. Reading them costs the dam nothing, and works while it is busy.
%%
%% `queued' and `in_flight' are messages accepted and not confirmed; `waiting' is the number of
%% senders that wait for room. `capacity' and `policy' are those of the start. Counts since the
%% start are `accepted', `taken' (by the dam out of its queue), `delivered' (confirmed by the
%% server), `dropped_new', `dropped_old', `timed_out', `rejected' (senders that got an error because
%% the server is gone), `redelivered', `poisoned', `restarts' of the server, and `holds' (pauses of
%% the dam because the mailbox of the server did not shrink). `longest_wait_us' is the longest wait
%% of a sender. `dam_mailbox' is the current length. `dam_mailbox_high', `server_mailbox_high' and
%% `mailboxes_high' (of the sum) are high-water marks. `state' is `open', `gone' or `closing'.
-spec info(dam()) -> {ok, #{atom() => non_neg_integer() | atom()}} | {error, no_dam}.
info(Dam) ->
    try
        {ok, tailback_dam_info:read(tailback_dam_queue:handle(Dam))}
    catch
        error:badarg -> {error, no_dam}
    end.

%% @doc Explains an error reason in one line.
-spec explain(reason()) -> binary().
explain(no_dam) -> <<"dam: no dam of this name runs; start it, or take a new handle">>;
explain(dam_down) ->
    <<"dam: it ended while the sender waited; the message may or may not have been delivered">>;
explain(server_gone) ->
    <<"dam: its server is gone; start it, then send again (deliver: may come twice)">>;
explain(closing) -> <<"dam: it is being stopped and takes no new messages">>;
explain(dropped) -> <<"dam: full, and its policy is to drop; send less, or choose policy block">>;
explain(timeout) -> <<"dam: no room or no answer within the time limit; try again later">>;
explain(poisoned) -> <<"dam: the message ended the server each time and was given up">>.
