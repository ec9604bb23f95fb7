%% @private
%% @doc The rows that the dam has handed to its server and that the server has not confirmed yet.
%% Pure.
%%
%% Rows go out in batches. A marker follows each batch, and its answer confirms that batch and all
%% batches before it. When the server dies, the rows in flight become pending. They go out again
%% before all others and one at a time, so that a row that crashes its server can be identified.
%% Before each of them goes a batch without rows. While that is not confirmed, the server has not
%% come to the row.
-module(tailback_dam_flight).

-export([new/0, rows/1, batches/1, pending/1, sent/3, confirmed/2, lost/3, next/1, all/1]).
-export([release/1, without_markers/1]).

-export_type([flight/0, batch/0]).

-type row() :: tailback_dam_queue:row().
-type batch() :: pos_integer().

-record(flight, {
    batches = queue:new() :: queue:queue({batch(), [row()]}),
    rows = 0 :: non_neg_integer(),
    pending = [] :: [row()],
    %% Whether the rows in flight are one that went out again. Nothing goes out behind it.
    again = false :: boolean(),
    %% The row that went out again last, and its crashes in a row.
    suspect = none :: none | {tailback_dam_queue:key(), non_neg_integer()}
}).

-opaque flight() :: #flight{}.

%% @doc No rows in flight.
-spec new() -> flight().
new() -> #flight{}.

%% @doc How many rows are in flight.
-spec rows(flight()) -> non_neg_integer().
rows(#flight{rows = Rows}) -> Rows.

%% @doc How many batches are in flight.
-spec batches(flight()) -> non_neg_integer().
batches(#flight{batches = Batches}) -> queue:len(Batches).

%% @doc How many rows have to go out again.
-spec pending(flight()) -> non_neg_integer().
pending(#flight{pending = Pending}) -> length(Pending).

%% @doc All rows that are not confirmed, in their order.
-spec all(flight()) -> [row()].
all(#flight{batches = Batches, pending = Pending}) ->
    lists:append([Rows || {_, Rows} <- queue:to_list(Batches)]) ++ Pending.

%% @doc Records that a batch went out.
-spec sent(batch(), [row()], flight()) -> flight().
sent(Id, Rows, #flight{batches = Batches, rows = N} = Flight) ->
    Flight#flight{batches = queue:in({Id, Rows}, Batches), rows = N + length(Rows)}.

%% @doc The marker of a batch was answered: returns the rows that this confirms. An answer that
%% belongs to no batch in flight, such as a late one of a dead server, confirms nothing.
-spec confirmed(batch(), flight()) -> {[row()], flight()}.
confirmed(Id, #flight{batches = Batches, rows = N} = Flight) ->
    case queue:peek(Batches) of
        {value, {First, Rows}} when First =< Id ->
            Left = N - length(Rows),
            Again = Flight#flight.again andalso Left > 0,
            Rest = Flight#flight{batches = queue:drop(Batches), rows = Left, again = Again},
            {More, Last} = confirmed(Id, Rest),
            {Rows ++ More, Last};
        _ ->
            {[], Flight}
    end.

%% @doc The server died. `crashed' counts against a message that went out again, if it was alone in
%% flight and the batch before it was confirmed. After `Attempts' crashes in a row that row is given
%% up and returned. `ended' (killed, shut down) counts against no row.
-spec lost(crashed | ended, pos_integer() | infinity, flight()) -> {[row()], flight()}.
lost(How, Attempts, #flight{batches = Batches, suspect = Suspect} = Flight) ->
    Again = Flight#flight{
        batches = queue:new(), rows = 0, pending = all(Flight), again = false
    },
    case {How, queue:to_list(Batches), Suspect} of
        {crashed, [{_, [{Key, _, {message, _}} = Row]}], {Key, Before}} ->
            case Before + 1 of
                Crashes when Crashes >= Attempts ->
                    {[Row], Again#flight{pending = Flight#flight.pending, suspect = none}};
                Crashes ->
                    {[], Again#flight{suspect = {Key, Crashes}}}
            end;
        _ ->
            {[], Again}
    end.

%% @doc Takes the waiters off the rows that have to go out again, and returns the rows that had one.
%% They still go out.
-spec release(flight()) -> {[row()], flight()}.
release(#flight{pending = Pending} = Flight) ->
    Waiting = [Row || {_, {confirm, _, _}, _} = Row <- Pending],
    {Waiting, Flight#flight{pending = [setelement(2, Row, none) || Row <- Pending]}}.

%% @doc Forgets the batches without rows, if no row is in flight: their markers never arrived.
-spec without_markers(flight()) -> flight().
without_markers(#flight{rows = 0} = Flight) -> Flight#flight{batches = queue:new()};
without_markers(Flight) -> Flight.

%% @doc The next row that has to go out again, or `none'; `wait' while another row is in flight, or
%% the last one that went out again.
-spec next(flight()) -> none | wait | {row(), flight()}.
next(#flight{again = true, rows = N}) when N > 0 -> wait;
next(#flight{pending = []}) -> none;
next(#flight{rows = N}) when N > 0 -> wait;
next(#flight{pending = [{Key, _, _} = Row | Rest], suspect = Suspect} = Flight) ->
    {Row, Flight#flight{pending = Rest, again = true, suspect = suspect(Key, Suspect)}}.

suspect(Key, {Key, Crashes}) -> {Key, Crashes};
suspect(Key, _) -> {Key, 0}.
