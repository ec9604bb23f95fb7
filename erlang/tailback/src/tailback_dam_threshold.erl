%% @private
%% @doc The dam of the original, kept for comparison. Before it passes on a message, it looks at
%% the mailbox of the server, and pauses while there are too many messages. This protects the
%% server. But nothing slows the senders down, so the other messages pile up in this dam's own
%% mailbox.
-module(tailback_dam_threshold).

-behaviour(gen_server).

-export([start_link/2, start_link/3, cast/2, sync/2]).
-export([init/1, handle_call/3, handle_cast/2]).

-type options() :: #{
    %% Messages in the server's mailbox above which the dam pauses. Default 10000.
    threshold => non_neg_integer(),
    %% Length of a pause in milliseconds. Default 100.
    pause_ms => non_neg_integer()
}.

-record(state, {
    server :: atom(),
    threshold :: non_neg_integer(),
    pause_ms :: non_neg_integer()
}).

%% @equiv start_link(Name, Server, #{})
-spec start_link(atom(), atom()) -> {ok, pid()} | {error, term()}.
start_link(Name, Server) -> start_link(Name, Server, #{}).

%% @doc Starts the dam as `Name', in front of the server that is registered as `Server'.
-spec start_link(atom(), atom(), options()) -> {ok, pid()} | {error, term()}.
start_link(Name, Server, Options) ->
    State = #state{
        server = Server,
        threshold = maps:get(threshold, Options, 10000),
        pause_ms = maps:get(pause_ms, Options, 100)
    },
    case gen_server:start_link({local, Name}, ?MODULE, State, []) of
        {ok, Pid} -> {ok, Pid};
        {error, Reason} -> {error, Reason};
        ignore -> {error, ignore}
    end.

%% @doc Sends a message to the dam; whether it arrives is not known.
-spec cast(atom() | pid(), term()) -> ok.
cast(Dam, Message) -> gen_server:cast(Dam, Message).

%% @doc Waits until the dam has passed on the messages that it has; `Limit' is in milliseconds.
-spec sync(atom() | pid(), timeout()) -> ok | {error, timeout | no_dam}.
sync(Dam, Limit) ->
    try
        gen_server:call(Dam, sync, Limit)
    catch
        exit:{timeout, _} -> {error, timeout};
        exit:_ -> {error, no_dam}
    end.

%% @private
-spec init(#state{}) -> {ok, #state{}}.
init(State) -> {ok, State}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call(sync, _, State) -> {reply, ok, State};
handle_call(_, _, State) -> {reply, {error, unknown_request}, State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Message, #state{server = Server} = State) ->
    ok = pause_while_full(State),
    ok = gen_server:cast(Server, Message),
    {noreply, State}.

%% If the server is gone, its messages are lost here. They were lost in the original too, which
%% crashed.
-spec pause_while_full(#state{}) -> ok.
pause_while_full(#state{server = Server, threshold = Threshold, pause_ms = Pause} = State) ->
    case queued(whereis(Server)) > Threshold of
        true ->
            timer:sleep(Pause),
            pause_while_full(State);
        false ->
            ok
    end.

-spec queued(pid() | undefined) -> non_neg_integer().
queued(undefined) ->
    0;
queued(Pid) ->
    case process_info(Pid, message_queue_len) of
        {message_queue_len, N} -> N;
        undefined -> 0
    end.
