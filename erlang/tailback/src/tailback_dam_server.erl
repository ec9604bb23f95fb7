%% @private
%% @doc The process of the dam. It takes messages out of the table and hands them to the server,
%% one window at a time. Use it through {@link tailback_dam}.
%%
%% After each batch the dam sends a marker: a system message (see {@link sys}) that asks for
%% something cheap. It is behind the batch in the mailbox of the server, so its answer means that
%% the batch was handled. Any gen_server answers it; the code of the server need not change.
%%
%% A server may have its name before its `init' has returned, and may still fail. So a new server
%% first gets a marker alone, and messages only when it has answered.
-module(tailback_dam_server).

-behaviour(gen_server).

-export([start_link/3]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {
    queue :: tailback_dam_queue:handle(),
    server :: tailback_dam:server(),
    options :: tailback_dam_options:checked(),
    link = down :: down | {pid(), Monitor :: reference()},
    %% The first marker of a server that has not answered any yet.
    greeting = none :: none | tailback_dam_flight:batch(),
    %% The timer of the next look for a server.
    retry = none :: none | reference(),
    %% When the last server that had answered was lost, or when the dam started.
    down_since :: integer(),
    was_up = false :: boolean(),
    urgent = none :: none | {pid(), reference()},
    flight = tailback_dam_flight:new() :: tailback_dam_flight:flight(),
    next_batch = 1 :: pos_integer(),
    %% Senders whose message was taken; they are answered together.
    held = [] :: [reference()],
    held_count = 0 :: non_neg_integer(),
    %% Rows confirmed since the last look at the server's mailbox. Or the dam holds until that
    %% shrinks, and this is the timer of the next look.
    unchecked = 0 :: non_neg_integer() | {holding, reference()},
    %% While the dam holds: whether the server was running when the last marker went out.
    ran = false :: boolean(),
    %% Where the search for rows of dead senders goes on.
    cursor = start :: tailback_dam_queue:cursor()
}).

-define(TICK_MS, 100).
-define(RETRY_MS, 10).
-define(HOLD_MS, 5).
-define(WAKE, 32).
%% Waiting senders that one tick looks at.
-define(LOOKED_AT, 1000).

%% @doc Starts the dam; use {@link tailback_dam:start_link/3}.
-spec start_link(atom(), tailback_dam:server(), tailback_dam_options:checked()) ->
    {ok, pid()} | {error, term()}.
start_link(Name, Server, Options) ->
    case gen_server:start_link({local, Name}, ?MODULE, {Name, Server, Options}, []) of
        {ok, Pid} -> {ok, Pid};
        {error, Reason} -> {error, Reason};
        ignore -> {error, ignore}
    end.

%% @private
-spec init({atom(), tailback_dam:server(), tailback_dam_options:checked()}) -> {ok, #state{}}.
init({Name, Server, Options}) ->
    _ = erlang:send_after(?TICK_MS, self(), tick),
    State = #state{
        queue = tailback_dam_queue:new(Name, Options),
        server = Server,
        options = Options,
        down_since = erlang:monotonic_time(millisecond)
    },
    {ok, pump(connect(State))}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, term(), #state{}} | {stop, normal, non_neg_integer(), #state{}}.
handle_call(connect, _, State) ->
    Next = pump(connect(State)),
    {reply, up_or_down(Next), Next};
handle_call(stop, _, #state{queue = Queue, flight = Flight} = State) ->
    Left = tailback_dam_queue:drain(Queue) + messages(tailback_dam_flight:all(Flight)),
    {stop, normal, Left, State};
handle_call(_, _, State) ->
    {reply, {error, unknown_request}, State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({urgent, Pid, Alias}, State) when is_pid(Pid), is_reference(Alias) ->
    {noreply, State#state{urgent = {Pid, Alias}}};
handle_cast(_, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(ring, State) ->
    {noreply, pump(State)};
handle_info({{tailback_confirm, Batch}, _}, State) ->
    {noreply, pump(look(confirm(Batch, greeted(Batch, State))))};
handle_info({'DOWN', Monitor, process, _, Reason}, #state{link = {_, Monitor}} = State) ->
    {noreply, lost(Reason, State)};
handle_info({timeout, Timer, retry}, #state{retry = Timer} = State) ->
    {noreply, pump(connect(State#state{retry = none}))};
handle_info({timeout, Timer, hold}, #state{unchecked = {holding, Timer}} = State) ->
    {noreply, pump(look_again(State))};
handle_info(tick, State) ->
    _ = erlang:send_after(?TICK_MS, self(), tick),
    %% If a sender is killed between setting the bell and ringing it, the dam still sleeps. So
    %% look.
    {noreply, pump(remove_abandoned(greet_again(check_gone(State))))};
handle_info(_, State) ->
    {noreply, State}.

%% @private
-spec terminate(term(), #state{}) -> ok.
terminate(_, State) ->
    _ = release(State),
    ok.

%% ---- the server comes and goes

connect(#state{link = down, server = Server, queue = Queue} = State) ->
    case find(Server) of
        undefined when is_pid(Server) ->
            %% It cannot come back.
            State;
        undefined ->
            ok = tailback_dam_queue:awake(Queue),
            retry(State);
        Pid ->
            greet(stop_retry(State#state{link = {Pid, monitor(process, Pid)}}))
    end;
connect(State) ->
    State.

retry(#state{retry = none} = State) ->
    State#state{retry = erlang:start_timer(?RETRY_MS, self(), retry)};
retry(State) ->
    State.

stop_retry(#state{retry = none} = State) ->
    State;
stop_retry(#state{retry = Timer} = State) ->
    _ = erlang:cancel_timer(Timer),
    State#state{retry = none}.

greet(#state{next_batch = Batch} = State) ->
    ask(State#state{greeting = Batch, unchecked = 0, ran = false}).

%% The `init' of a server may throw away what is in its mailbox. On another node that cannot be
%% seen, and more markers could pile up there.
greet_again(#state{greeting = First, link = {Pid, _}, flight = Flight} = State) when
    is_integer(First), node(Pid) =:= node()
->
    case mailbox(Pid) of
        0 -> ask(State#state{flight = tailback_dam_flight:without_markers(Flight)});
        _ -> State
    end;
greet_again(State) ->
    State.

greeted(Batch, #state{greeting = First, queue = Queue, was_up = WasUp} = State) when
    is_integer(First), Batch >= First
->
    ok = tailback_dam_queue:count(Queue, restarts, length([again || WasUp])),
    ok = tailback_dam_queue:set_state(Queue, open),
    State#state{greeting = none, was_up = true};
greeted(_, State) ->
    State.

find(Pid) when is_pid(Pid), node(Pid) =:= node() ->
    case is_process_alive(Pid) of
        true -> Pid;
        false -> undefined
    end;
find(Pid) when is_pid(Pid) ->
    Pid;
find(Name) when is_atom(Name) ->
    whereis(Name);
find({global, Name}) ->
    find({via, global, Name});
find({via, Module, Name}) ->
    %% While a registry does not run, it raises. It may come back, and the dam holds messages.
    try
        Module:whereis_name(Name)
    catch
        _:_ -> undefined
    end.

up_or_down(#state{link = down}) -> down;
up_or_down(_) -> up.

lost(Reason, #state{queue = Queue, options = Options, flight = Flight} = State) ->
    Again = tailback_dam_flight:rows(Flight),
    #{attempts := Attempts} = Options,
    {Poisoned, Next} = tailback_dam_flight:lost(blame(Reason), Attempts, Flight),
    ok = tailback_dam_queue:count(Queue, poisoned, length(Poisoned)),
    ok = tailback_dam_queue:count(Queue, redelivered, Again - length(Poisoned)),
    ok = tailback_dam_queue:put_figure(Queue, in_flight, tailback_dam_flight:pending(Next)),
    ok = tell(Poisoned, {error, poisoned}),
    Down = State#state{link = down, flight = Next, unchecked = 0, ran = false},
    pump(look_for_next(Reason, down_since(Down))).

%% A server that never answered was not back: the time without a server goes on.
down_since(#state{greeting = none} = State) ->
    State#state{down_since = erlang:monotonic_time(millisecond)};
down_since(State) ->
    check_gone(State#state{greeting = none}).

%% Only a process that does not exist is certain not to come back under its pid.
look_for_next(noproc, #state{server = Server} = State) when is_pid(Server) -> State;
look_for_next(_, State) -> retry(State).

%% An end from outside does not count against the message that the server was handling. A server
%% that stops by itself, with `normal' or `{shutdown, _}', would do so again at the same message.
blame(Reason) when
    Reason =:= shutdown;
    Reason =:= killed;
    Reason =:= kill;
    Reason =:= noproc;
    Reason =:= noconnection
->
    ended;
blame(_) ->
    crashed.

check_gone(#state{link = {_, _}, greeting = none} = State) ->
    State;
check_gone(#state{options = #{gone_after := After}, queue = Queue} = State) ->
    case erlang:monotonic_time(millisecond) - State#state.down_since of
        %% A number sorts before every atom, so with `infinity' this is never true.
        Ms when Ms >= After ->
            ok = tailback_dam_queue:set_state(Queue, gone),
            Rejected = tailback_dam_queue:reject(Queue, {error, server_gone}),
            {Waiting, Flight} = tailback_dam_flight:release(State#state.flight),
            ok = tailback_dam_queue:count(Queue, rejected, Rejected + length(Waiting)),
            ok = tell(Waiting, {error, server_gone}),
            release(State#state{flight = Flight});
        _ ->
            State
    end.

%% ---- handing over

pump(#state{link = down} = State) ->
    release_many(State);
pump(#state{greeting = Batch} = State) when is_integer(Batch) ->
    release_many(State);
pump(#state{unchecked = {holding, _}} = State) ->
    release_many(State);
pump(State) ->
    hand_over(State).

hand_over(#state{flight = Flight} = State) ->
    case tailback_dam_flight:next(Flight) of
        {Row, Rest} ->
            %% An urgent row goes out as a normal one: it has to stay behind its marker.
            release_many(send([Row], none, ask(State#state{flight = Rest})));
        wait ->
            release_many(State);
        none ->
            case fitting(State) of
                0 -> release_many(State);
                Rows -> pump_batch(Rows, State)
            end
    end.

%% How many rows the next batch may have. While more rows wait than fit, half a window has to be
%% free. Otherwise a batch of its own would follow each confirmation.
fitting(#state{queue = Queue, options = Options, flight = Flight}) ->
    #{window := Window, batch := Batch, batches := Batches} = Options,
    Free = Window - tailback_dam_flight:rows(Flight),
    case tailback_dam_flight:batches(Flight) < Batches of
        true when Free >= Batch ->
            Batch;
        true when Free > 0 ->
            case tailback_dam_queue:size(Queue) =< Free of
                true -> Free;
                false -> 0
            end;
        _ ->
            0
    end.

pump_batch(Batch, #state{queue = Queue} = State) ->
    case tailback_dam_queue:take(Queue, Batch) of
        [] -> doze(State);
        Rows -> pump(send(Rows, urgent_alias(State), taken(Rows, State)))
    end.

%% Sleeps first, then looks once more: a row that came in between has not rung.
doze(#state{queue = Queue} = State) ->
    ok = tailback_dam_queue:sleep(Queue),
    case tailback_dam_queue:size(Queue) of
        0 ->
            release(State);
        _ ->
            ok = tailback_dam_queue:awake(Queue),
            pump(State)
    end.

taken(Rows, #state{queue = Queue, held = Held, held_count = Count} = State) ->
    ok = tailback_dam_queue:count(Queue, taken, messages(Rows)),
    More = [Ref || {_, {accept, Ref, _}, _} <- Rows],
    State#state{held = More ++ Held, held_count = length(More) + Count}.

send(Rows, Alias, #state{link = {Pid, _}, options = #{as := As}} = State) ->
    #state{queue = Queue, flight = Flight, next_batch = Batch} = State,
    lists:foreach(fun(Row) -> send_row(Pid, Alias, As, Row) end, Rows),
    ok = mark(Pid, Batch),
    Next = tailback_dam_flight:sent(Batch, Rows, Flight),
    Unconfirmed = tailback_dam_flight:rows(Next) + tailback_dam_flight:pending(Next),
    ok = tailback_dam_queue:put_figure(Queue, in_flight, Unconfirmed),
    State#state{flight = Next, next_batch = Batch + 1}.

%% Sends a marker without rows. Its answer means that the server has come that far.
ask(#state{link = {Pid, _}, flight = Flight, next_batch = Batch} = State) ->
    ok = mark(Pid, Batch),
    State#state{flight = tailback_dam_flight:sent(Batch, [], Flight), next_batch = Batch + 1}.

mark(Pid, Batch) ->
    Pid ! {system, {self(), {tailback_confirm, Batch}}, {debug, {statistics, get}}},
    ok.

urgent_alias(#state{link = {Pid, _}, urgent = {Pid, Alias}}) -> Alias;
urgent_alias(_) -> none.

send_row(_, _, _, {_, _, flush}) ->
    ok;
send_row(Pid, Alias, As, {Key, _, {message, Message}}) ->
    Term =
        case As of
            cast -> {'$gen_cast', Message};
            info -> Message
        end,
    case tailback_dam_queue:lane(Key) of
        urgent ->
            tailback_dam_urgent:send(Pid, Alias, Term);
        normal ->
            Pid ! Term,
            ok
    end.

messages(Rows) -> length([message || {_, _, {message, _}} <- Rows]).

%% ---- confirming

confirm(Batch, #state{queue = Queue, flight = Flight, unchecked = Unchecked} = State) ->
    {Rows, Next} = tailback_dam_flight:confirmed(Batch, Flight),
    ok = tailback_dam_queue:count(Queue, delivered, messages(Rows)),
    Unconfirmed = tailback_dam_flight:rows(Next) + tailback_dam_flight:pending(Next),
    ok = tailback_dam_queue:put_figure(Queue, in_flight, Unconfirmed),
    ok = tell(Rows, ok),
    case Unchecked of
        {holding, _} -> State#state{flight = Next};
        N -> State#state{flight = Next, unchecked = N + length(Rows)}
    end.

tell(Rows, Answer) ->
    lists:foreach(
        fun
            ({_, {confirm, Ref, _}, _}) -> Ref ! {Ref, Answer};
            (_) -> ok
        end,
        Rows
    ).

%% Once in a window, checks that the mailbox of the server is as short as it should be after the
%% confirmations. If not, the server is suspended, or others flood it. Then the dam holds: handing
%% over more would only make the mailbox longer.
look(#state{link = {Pid, _}, options = #{window := Window}, unchecked = Unchecked} = State) when
    is_integer(Unchecked), Unchecked >= Window, node(Pid) =:= node()
->
    case is_short(Pid, State) of
        true ->
            State#state{unchecked = 0};
        false ->
            ok = tailback_dam_queue:count(State#state.queue, holds, 1),
            hold(State)
    end;
look(State) ->
    State.

look_again(#state{link = {Pid, _}} = State) ->
    case is_short(Pid, State) of
        true -> State#state{unchecked = 0, ran = false};
        false -> trickle(is_running(Pid), hold(State))
    end.

hold(State) ->
    State#state{unchecked = {holding, erlang:start_timer(?HOLD_MS, self(), hold)}}.

is_short(Pid, #state{queue = Queue, options = #{pause_above := PauseAbove}}) ->
    Server = mailbox(Pid),
    Own = mailbox(self()),
    ok = tailback_dam_queue:raise(Queue, dam_mailbox_high, Own),
    ok = tailback_dam_queue:raise(Queue, server_mailbox_high, Server),
    ok = tailback_dam_queue:raise(Queue, mailboxes_high, Own + Server),
    Server =< PauseAbove.

%% Others may keep the mailbox long for ever. So, while the server is running, it gets one batch
%% after the other. A suspended server answers markers, but leaves its messages in the mailbox. So
%% the first batch has to wait for a marker that the server answered while it was running. Then
%% nothing of the dam is left in the mailbox.
trickle(false, State) ->
    State#state{ran = false};
trickle(true, #state{flight = Flight, ran = Ran} = State) ->
    case tailback_dam_flight:batches(Flight) of
        0 when Ran -> hand_over(State);
        0 -> ask(State#state{ran = true});
        _ -> State
    end.

%% A suspended process waits in `sys', or it hibernates although it has messages.
is_running(Pid) ->
    case process_info(Pid, current_function) of
        {current_function, {sys, _, _}} -> false;
        {current_function, {erlang, hibernate, _}} -> false;
        {current_function, _} -> true;
        undefined -> false
    end.

mailbox(Pid) ->
    case process_info(Pid, message_queue_len) of
        {message_queue_len, N} -> N;
        undefined -> 0
    end.

%% ---- senders that died

%% A sender that is killed while it waits leaves its row behind.
remove_abandoned(#state{queue = Queue, cursor = Cursor} = State) ->
    case tailback_dam_queue:waiting(Queue) of
        0 -> State#state{cursor = start};
        _ -> State#state{cursor = tailback_dam_queue:remove_abandoned(Queue, Cursor, ?LOOKED_AT)}
    end.

%% ---- telling senders that there is room again

%% Answers many senders at once, and not each when its message is taken. A sender that wakes up
%% while the table is still full could give only one message before it waits again.
release_many(#state{held_count = Count} = State) when Count >= ?WAKE ->
    release(State);
release_many(#state{held_count = 0} = State) ->
    State;
release_many(#state{queue = Queue} = State) ->
    case 2 * tailback_dam_queue:size(Queue) =< tailback_dam_queue:capacity(Queue) of
        true -> release(State);
        false -> State
    end.

release(#state{held = Held} = State) ->
    lists:foreach(fun(Ref) -> Ref ! {Ref, ok} end, lists:reverse(Held)),
    State#state{held = [], held_count = 0}.
