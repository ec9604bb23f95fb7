%% @doc A dam: put it in front of a process that is slower than its senders.
%%
%% It is an OTP process of its own. Senders call {@link cast/2} with the dam's name where they would
%% call `gen_server:cast/2' with the server's; the server stays as it is. Messages wait in a table
%% that is bounded, and senders are slowed down to the pace of the server; the mailboxes of both dam
%% and server stay short, whatever the number of senders. docs/dam.md explains it.
%%
%% <h2>What is promised</h2>
%% <ul>
%% <li>`cast' and `urgent' answering `ok': the message is accepted. It will be handed to the server,
%%   in the order in which this sender's messages of the same lane were accepted, and again after a
%%   restart of the server, until the server has dealt with it. It is lost only with the dam itself,
%%   or by the policy `drop_old', or if it crashes the server `attempts' times alone.</li>
%% <li>`deliver' answering `ok': the server took the message out of its mailbox and its callback
%%   returned.</li>
%% <li>At least once: when the server dies, up to `window' messages which it had dealt with, but not
%%   confirmed, are handed over a second time. Where that matters, give messages an identity.</li>
%% <li>Dam and server together never hold more than `bound' accepted messages, and neither do their
%%   mailboxes. What a sender offers while it is held up is counted as that sender's: one each.</li>
%% </ul>
%%
%% <h2>What it needs</h2>
%% Senders live on the dam's node. The server is a gen_server, gen_statem or other process that
%% answers system messages (see {@link sys}), by which the dam learns how far it has come. A server
%% that is suspended answers them early: then `deliver' means "in its mailbox", which stays bounded.
-module(tailback_dam).

-export([start_link/2, start_link/3, stop/1, stop/2]).
-export([cast/2, cast/3, urgent/2, urgent/3, deliver/2, deliver/3, flush/1, flush/2]).
-export([handle/1, info/1, connect/1, accept_urgent/1, explain/1]).

-export_type([dam/0, options/0, reason/0]).

-type dam() :: atom() | tailback_dam_queue:handle().
-type options() :: #{
    %% Most messages that dam and server hold together. Default 1000.
    bound => pos_integer(),
    %% Most messages under way to the server. Default 64; at least 4.
    window => pos_integer(),
    %% What happens when there is no room. Default block.
    policy => tailback_dam_queue:policy(),
    %% How the server gets its messages: handle_cast or handle_info. Default cast.
    as => cast | info,
    %% Milliseconds without a server after which senders get an error. Default 5000.
    gone_after => non_neg_integer() | infinity,
    %% Crashes of the server after which a message is given up. Default 3.
    attempts => pos_integer() | infinity
}.
-type reason() :: no_dam | dam_down | server_gone | closing | dropped | timeout | poisoned.

%% @equiv start_link(Name, Server, #{})
-spec start_link(atom(), tailback_dam_server:server()) -> {ok, pid()} | {error, term()}.
start_link(Name, Server) -> start_link(Name, Server, #{}).

%% @doc Starts a dam under a name, linked to the caller. The server need not be there yet, and may
%% be restarted at any time if it is given by name; given by pid it cannot come back.
%% Errors: `{bad_option, Line}', `{already_started, Pid}', `{name_taken, Line}'.
-spec start_link(atom(), tailback_dam_server:server(), options()) ->
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

%% @doc Refuses new messages, waits up to `Limit' milliseconds until the server has what was
%% accepted, and ends the dam. Answers how many messages it could not deliver.
-spec stop(dam(), timeout()) -> {ok, #{undelivered := non_neg_integer()}} | {error, reason()}.
stop(Dam, Limit) ->
    try
        Handle = tailback_dam_queue:handle(Dam),
        tailback_dam_queue:set_state(Handle, closing),
        _ = flush(Handle, Limit),
        Left = gen_server:call(tailback_dam_queue:dam(Handle), stop, 5000),
        {ok, #{undelivered => Left}}
    catch
        error:badarg -> {error, no_dam};
        exit:{timeout, _} -> {error, timeout};
        exit:_ -> {error, dam_down}
    end.

%% @equiv cast(Dam, Message, infinity)
-spec cast(dam(), term()) -> ok | {error, reason()}.
cast(Dam, Message) -> cast(Dam, Message, infinity).

%% @doc Gives a message to the dam. While there is no room the caller is held up, at most `Timeout'
%% milliseconds; after `{error, timeout}' the message is certain not to be delivered.
-spec cast(dam(), term(), timeout()) -> ok | {error, reason()}.
cast(Dam, Message, Timeout) ->
    tailback_dam_sender:submit(Dam, normal, accept, {message, Message}, Timeout).

%% @equiv urgent(Dam, Message, infinity)
-spec urgent(dam(), term()) -> ok | {error, reason()}.
urgent(Dam, Message) -> urgent(Dam, Message, infinity).

%% @doc As {@link cast/3}, ahead of all that wait in the normal lane. Messages under way to the
%% server, at most `window', are ahead of it, unless the server called {@link accept_urgent/1}.
-spec urgent(dam(), term(), timeout()) -> ok | {error, reason()}.
urgent(Dam, Message, Timeout) ->
    tailback_dam_sender:submit(Dam, urgent, accept, {message, Message}, Timeout).

%% @equiv deliver(Dam, Message, infinity)
-spec deliver(dam(), term()) -> ok | {error, reason()}.
deliver(Dam, Message) -> deliver(Dam, Message, infinity).

%% @doc As {@link cast/3}, but answers when the server has dealt with the message. After
%% `{error, timeout}' it may still be delivered.
-spec deliver(dam(), term(), timeout()) -> ok | {error, reason()}.
deliver(Dam, Message, Timeout) ->
    tailback_dam_sender:submit(Dam, normal, confirm, {message, Message}, Timeout).

%% @equiv flush(Dam, infinity)
-spec flush(dam()) -> ok | {error, reason()}.
flush(Dam) -> flush(Dam, infinity).

%% @doc Answers when the server has dealt with everything that was accepted before this call.
-spec flush(dam(), timeout()) -> ok | {error, reason()}.
flush(Dam, Timeout) ->
    tailback_dam_sender:flush(Dam, Timeout).

%% @doc What a sender that sends very often may use in place of the name. It is valid as long as
%% this dam lives: after `{error, no_dam}' take a new one.
-spec handle(atom()) -> {ok, tailback_dam_queue:handle()} | {error, no_dam}.
handle(Name) ->
    try
        {ok, tailback_dam_queue:handle(Name)}
    catch
        error:badarg -> {error, no_dam}
    end.

%% @doc Has the dam look for its server now and not at the next try.
-spec connect(atom()) -> up | down | {error, no_dam}.
connect(Name) ->
    try
        gen_server:call(Name, connect)
    catch
        exit:_ -> {error, no_dam}
    end.

%% @doc Called by the server itself, at each start: where the VM has priority messages (OTP 28 and
%% later) urgent messages then go ahead of what is in the server's mailbox too.
-spec accept_urgent(atom()) -> ok | unsupported.
accept_urgent(Name) -> tailback_dam_urgent:accept(Name).

%% @doc The dam's figures; costs the dam nothing, and works while it is busy.
%%
%% `queued', `in_flight': accepted and not confirmed; `waiting': senders held up now;
%% `accepted', `delivered' (confirmed by the server), `dropped_new', `dropped_old', `timed_out',
%% `rejected' (senders told that the server is gone), `redelivered', `poisoned': counts since the
%% start; `restarts' of the server, `holds': times the dam paused since the server's mailbox did not
%% shrink; `longest_wait_us' of a sender; `dam_mailbox', and the high-water marks
%% `dam_mailbox_high', `server_mailbox_high', `mailboxes_high' (of the sum); `state'.
-spec info(dam()) -> {ok, #{atom() => non_neg_integer() | atom()}} | {error, no_dam}.
info(Dam) ->
    try
        {ok, tailback_dam_info:read(tailback_dam_queue:handle(Dam))}
    catch
        error:badarg -> {error, no_dam}
    end.

%% @doc One line for each reason that a sender can get.
-spec explain(reason()) -> binary().
explain(no_dam) -> <<"dam: no dam of this name runs; start it, or take a new handle">>;
explain(dam_down) -> <<"dam: it ended while the sender waited; the message was not delivered">>;
explain(server_gone) -> <<"dam: its server is gone; start the server again, then send again">>;
explain(closing) -> <<"dam: it is being stopped and takes no new messages">>;
explain(dropped) -> <<"dam: full, and its policy is to drop; send less, or choose policy block">>;
explain(timeout) -> <<"dam: no room or no answer within the time limit; try again later">>;
explain(poisoned) -> <<"dam: the message crashed the server each time and was given up">>.
