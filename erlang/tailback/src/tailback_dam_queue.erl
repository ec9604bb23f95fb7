%% @private
%% @doc The table in which messages wait for the dam.
%%
%% It is an ordered ETS table that senders write and the dam empties, so the waiting messages are
%% in no mailbox. A row is `{Key, Waiter, Payload}'. Keys are tickets from one atomic counter, so
%% rows are in the order in which their senders came. Urgent rows have keys below all others. One
%% extra row holds the handle. Its key is the atom `config', which sorts after every number.
%%
%% Why a table, and not credits in a counter: a sender can be killed between taking a credit and
%% using it, and then the credit is lost. Here the free room follows from the size of the table,
%% so a killed sender cannot lose any.
-module(tailback_dam_queue).

-export([new/2, handle/1, dam/1, capacity/1, policy/1, size/1, waiting/1, drain/1]).
-export([ticket/2, lane/1, insert/4, make_waiter/3, withdraw/2, take/2, drop_oldest/1, reject/2]).
-export([remove_abandoned/3]).
-export([ring/1, sleep/1, awake/1, state/1, set_state/2]).
-export([count/3, put_figure/3, raise/3, figure/2]).

-export_type([handle/0, key/0, lane/0, waiter/0, payload/0, row/0, cursor/0, state/0]).
-export_type([figure/0]).

-record(handle, {
    dam :: pid(),
    %% Not the name: a later dam of the same name has another table.
    table :: ets:table(),
    hot :: atomics:atomics_ref(),
    figures :: atomics:atomics_ref(),
    capacity :: pos_integer(),
    policy :: tailback_dam:policy()
}).

-opaque handle() :: #handle{}.
%% What a sender needs to reach the dam. It is valid as long as that dam lives.
-type key() :: pos_integer().
-type lane() :: normal | urgent.
-type waiter() :: none | {accept | confirm, reference(), pid()}.
%% The process that gets an answer, and when: with `accept' as soon as the dam has taken the row,
%% with `confirm' when the server has handled it. The answer goes to the alias.
-type payload() :: {message, term()} | flush.
-type row() :: {key(), waiter(), payload()}.
-type cursor() :: start | {next, Continuation :: term()}.
%% Where {@link remove_abandoned/3} goes on.
-type state() :: open | gone | closing.
-type figure() ::
    longest_wait_us
    | taken
    | delivered
    | in_flight
    | dam_mailbox_high
    | server_mailbox_high
    | mailboxes_high
    | redelivered
    | poisoned
    | dropped_new
    | dropped_old
    | timed_out
    | restarts
    | holds
    | rejected.

%% Normal tickets start here, urgent ones at 1: both stay small integers.
-define(NORMAL, (1 bsl 57)).
-define(TICKET, 1).
-define(BELL, 2).
-define(STATE, 3).

%% @doc A new table, named after its dam and owned by the caller. Fails with `badarg' if a table
%% of that name exists.
-spec new(atom(), #{capacity := pos_integer(), policy := tailback_dam:policy(), _ => _}) ->
    handle().
new(Name, #{capacity := Capacity, policy := Policy}) ->
    %% With a decentralised counter the size is expensive to read, and it is read for each
    %% message.
    Name = ets:new(Name, [
        ordered_set,
        public,
        named_table,
        {write_concurrency, true},
        {decentralized_counters, false}
    ]),
    Table = ets:whereis(Name),
    Handle = #handle{
        dam = self(),
        table = Table,
        hot = atomics:new(3, []),
        figures = atomics:new(15, []),
        capacity = Capacity,
        policy = Policy
    },
    true = ets:insert(Table, {config, Handle}),
    Handle.

%% @doc The handle of the dam of that name; fails with `badarg' if there is none.
-spec handle(atom() | handle()) -> handle().
handle(#handle{} = Handle) -> Handle;
handle(Name) when is_atom(Name) -> ets:lookup_element(Name, config, 2).

%% @doc The dam's process.
-spec dam(handle()) -> pid().
dam(#handle{dam = Dam}) -> Dam.

%% @doc How many rows fit before senders have to wait.
-spec capacity(handle()) -> pos_integer().
capacity(#handle{capacity = Capacity}) -> Capacity.

%% @doc What happens to a message for which there is no room.
-spec policy(handle()) -> tailback_dam:policy().
policy(#handle{policy = Policy}) -> Policy.

%% @doc Rows in the table, including those of waiting senders; fails with `badarg' if the dam is
%% gone.
-spec size(handle()) -> non_neg_integer().
size(#handle{table = Table}) ->
    case ets:info(Table, size) of
        undefined -> error(badarg);
        Size when is_integer(Size) -> Size - 1
    end.

%% @doc Senders that wait for room: the rows above the capacity.
-spec waiting(handle()) -> non_neg_integer().
waiting(#handle{capacity = Capacity} = Handle) ->
    max(0, ?MODULE:size(Handle) - Capacity).

%% @doc Removes all messages from the table, including those of waiting senders, and returns how
%% many there were. A sender cannot take a removed one back.
-spec drain(handle()) -> non_neg_integer().
drain(#handle{table = Table}) ->
    ets:select_delete(Table, [{{'_', '_', {message, '_'}}, [], [true]}]).

%% @doc Draws the key for one message.
-spec ticket(handle(), lane()) -> key().
ticket(#handle{hot = Hot}, Lane) ->
    Ticket = atomics:add_get(Hot, ?TICKET, 1),
    case Lane of
        normal -> ?NORMAL + Ticket;
        urgent -> Ticket
    end.

%% @doc The lane that a key belongs to.
-spec lane(key()) -> lane().
lane(Key) when Key > ?NORMAL -> normal;
lane(_) -> urgent.

%% @doc Puts one row into the table.
-spec insert(handle(), key(), waiter(), payload()) -> true.
insert(#handle{table = Table}, Key, Waiter, Payload) ->
    ets:insert(Table, {Key, Waiter, Payload}).

%% @doc Sets which process gets an answer for a row; false if the dam has already taken the row.
-spec make_waiter(handle(), key(), waiter()) -> boolean().
make_waiter(#handle{table = Table}, Key, Waiter) ->
    ets:update_element(Table, Key, {2, Waiter}).

%% @doc Takes the caller's own row back; false if the dam has already taken it.
-spec withdraw(handle(), key()) -> boolean().
withdraw(#handle{table = Table}, Key) ->
    ets:take(Table, Key) =/= [].

%% @doc Takes up to `Max' rows, lowest key first.
-spec take(handle(), non_neg_integer()) -> [row()].
take(_, 0) ->
    [];
take(#handle{table = Table} = Handle, Max) ->
    case ets:first(Table) of
        config ->
            [];
        Key ->
            case ets:take(Table, Key) of
                [Row] -> [Row | take(Handle, Max - 1)];
                %% Its sender took it back in the meantime.
                [] -> take(Handle, Max)
            end
    end.

%% @doc Drops messages until the table is within its capacity: normal ones, oldest first, and then
%% urgent ones, oldest first. Returns the dropped rows.
-spec drop_oldest(handle()) -> [row()].
drop_oldest(Handle) ->
    Normal = drop_oldest(Handle, ?NORMAL),
    Normal ++ drop_oldest(Handle, 0).

-spec drop_oldest(handle(), non_neg_integer()) -> [row()].
drop_oldest(#handle{table = Table, capacity = Capacity} = Handle, After) ->
    case ?MODULE:size(Handle) > Capacity andalso ets:next(Table, After) of
        Key when is_integer(Key) ->
            %% A row of a waiting flush is not a message: it stays.
            case ets:select(Table, [{{Key, '_', flush}, [], [true]}]) of
                [true] -> drop_oldest(Handle, Key);
                [] -> ets:take(Table, Key) ++ drop_oldest(Handle, Key)
            end;
        _ ->
            []
    end.

%% @doc Removes the rows of senders that wait for an answer, and sends them `Answer'. Returns how
%% many there were.
-spec reject(handle(), {error, atom()}) -> non_neg_integer().
reject(#handle{table = Table}, Answer) ->
    Waiting = ets:select(Table, [{{'$1', {'_', '$2', '_'}, '_'}, [], [{{'$1', '$2'}}]}]),
    lists:sum([reject(Table, Key, Ref, Answer) || {Key, Ref} <- Waiting]).

%% Answers first: a sender that gives up and no longer finds its row looks for the answer.
reject(Table, Key, Ref, Answer) ->
    Ref ! {Ref, Answer},
    remove_waiting(Table, Key, Ref).

%% Removes a row only if its sender still waits. One that gave up may have left the row as an
%% accepted one.
remove_waiting(Table, Key, Ref) ->
    ets:select_delete(Table, [{{Key, {'_', Ref, '_'}, '_'}, [], [true]}]).

%% @doc Removes rows whose senders died while they waited. Looks at up to `Max' rows of waiting
%% senders, from where the last call stopped, and returns where the next call has to go on.
-spec remove_abandoned(handle(), cursor(), pos_integer()) -> cursor().
remove_abandoned(#handle{table = Table}, start, Max) ->
    Rows = [{{'$1', {'_', '$2', '$3'}, '_'}, [], [{{'$1', '$2', '$3'}}]}],
    remove_dead(Table, ets:select(Table, Rows, Max));
remove_abandoned(#handle{table = Table}, {next, Continuation}, _) ->
    remove_dead(Table, ets:select(Continuation)).

remove_dead(_, '$end_of_table') ->
    start;
remove_dead(Table, {Waiting, Continuation}) ->
    Dead = [{Key, Ref} || {Key, Ref, Sender} <- Waiting, not is_process_alive(Sender)],
    lists:foreach(fun({Key, Ref}) -> remove_waiting(Table, Key, Ref) end, Dead),
    {next, Continuation}.

%% @doc Wakes the dam if it sleeps. At most one ring is on its way at a time.
-spec ring(handle()) -> ok.
ring(#handle{hot = Hot, dam = Dam}) ->
    %% Reads first, so that while the dam is busy nobody writes the cell that all read.
    case atomics:get(Hot, ?BELL) =:= 0 andalso atomics:exchange(Hot, ?BELL, 1) of
        0 ->
            Dam ! ring,
            ok;
        _ ->
            ok
    end.

%% @doc Records that the dam has nothing to do and needs a ring. After this the dam must look at
%% the table once more, since a row may have come meanwhile.
-spec sleep(handle()) -> ok.
sleep(#handle{hot = Hot}) -> atomics:put(Hot, ?BELL, 0).

%% @doc Records that the dam will look at the table without a ring.
-spec awake(handle()) -> ok.
awake(#handle{hot = Hot}) -> atomics:put(Hot, ?BELL, 1).

%% @doc Whether the dam takes messages.
-spec state(handle()) -> state().
state(#handle{hot = Hot}) ->
    case atomics:get(Hot, ?STATE) of
        0 -> open;
        1 -> gone;
        2 -> closing
    end.

%% @doc Sets whether the dam takes messages. Closing is final.
-spec set_state(handle(), state()) -> ok.
set_state(#handle{hot = Hot}, closing) ->
    atomics:put(Hot, ?STATE, 2);
set_state(#handle{hot = Hot}, State) ->
    {From, To} =
        case State of
            open -> {1, 0};
            gone -> {0, 1}
        end,
    _ = atomics:compare_exchange(Hot, ?STATE, From, To),
    ok.

%% @doc Adds to a figure.
-spec count(handle(), figure(), non_neg_integer()) -> ok.
count(_, _, 0) -> ok;
count(#handle{figures = Figures}, Figure, N) -> atomics:add(Figures, cell(Figure), N).

%% @doc Sets a figure. Only the dam may call this.
-spec put_figure(handle(), figure(), non_neg_integer()) -> ok.
put_figure(#handle{figures = Figures}, Figure, N) -> atomics:put(Figures, cell(Figure), N).

%% @doc Raises a high-water mark to `N' if it is lower.
-spec raise(handle(), figure(), non_neg_integer()) -> ok.
raise(#handle{figures = Figures} = Handle, Figure, N) ->
    Cell = cell(Figure),
    case atomics:get(Figures, Cell) of
        Old when Old >= N ->
            ok;
        Old ->
            case atomics:compare_exchange(Figures, Cell, Old, N) of
                ok -> ok;
                _ -> raise(Handle, Figure, N)
            end
    end.

%% @doc Reads a figure.
-spec figure(handle(), figure()) -> non_neg_integer().
figure(#handle{figures = Figures}, Figure) -> atomics:get(Figures, cell(Figure)).

-spec cell(figure()) -> pos_integer().
cell(longest_wait_us) -> 1;
cell(taken) -> 2;
cell(delivered) -> 3;
cell(in_flight) -> 4;
cell(dam_mailbox_high) -> 5;
cell(server_mailbox_high) -> 6;
cell(mailboxes_high) -> 7;
cell(redelivered) -> 8;
cell(poisoned) -> 9;
cell(dropped_new) -> 10;
cell(dropped_old) -> 11;
cell(timed_out) -> 12;
cell(restarts) -> 13;
cell(holds) -> 14;
cell(rejected) -> 15.
