%% @private
%% @doc A histogram of times that many processes update at the same time. Each octave has eight
%% buckets, so a value is known to within an eighth.
-module(msgq_histogram).

-export([new/0, add/2, buckets/1, quantiles/2, bucket/1, bounds/1]).

-export_type([histogram/0]).

-opaque histogram() :: counters:counters_ref().

-define(SUB, 8).
%% Cells reach up to 2^42 ns, about 73 minutes, because the first eight cells cover three octaves.
%% Longer times count in the last cell.
-define(OCTAVES, 40).
-define(CELLS, (?SUB * ?OCTAVES)).

%% @doc Makes an empty histogram.
-spec new() -> histogram().
new() -> counters:new(?CELLS, [write_concurrency]).

%% @doc Counts one value, in nanoseconds.
-spec add(histogram(), integer()) -> ok.
add(Histogram, Ns) -> counters:add(Histogram, bucket(Ns), 1).

%% @doc The buckets that are not empty: their upper bound in microseconds and their count.
-spec buckets(histogram()) -> [{float(), pos_integer()}].
buckets(Histogram) ->
    [{upper_us(Cell), Count} || {Cell, Count} <- counted(Histogram)].

%% @doc The upper bound, in microseconds, of the bucket that holds each quantile; empty if nothing
%% was counted. A quantile is the smallest value that at least this share of all values does not
%% exceed.
-spec quantiles(histogram(), [float()]) -> [{float(), float()}].
quantiles(Histogram, Shares) ->
    case counted(Histogram) of
        [] ->
            [];
        Counted ->
            Total = lists:sum([Count || {_, Count} <- Counted]),
            [{Share, upper_us(reach(Counted, max(1, ceil(Share * Total))))} || Share <- Shares]
    end.

-spec counted(histogram()) -> [{pos_integer(), pos_integer()}].
counted(Histogram) ->
    Counted = [{Cell, counters:get(Histogram, Cell)} || Cell <- lists:seq(1, ?CELLS)],
    [Both || {_, N} = Both <- Counted, N > 0].

reach([{Cell, _}], _) -> Cell;
reach([{Cell, Count} | _], Rank) when Count >= Rank -> Cell;
reach([{_, Count} | Rest], Rank) -> reach(Rest, Rank - Count).

%% @doc The cell of a value in nanoseconds.
-spec bucket(integer()) -> pos_integer().
bucket(Ns) when is_integer(Ns), Ns < ?SUB ->
    max(0, Ns) + 1;
bucket(Ns) when is_integer(Ns) ->
    %% The three bits below the highest one choose the part of the octave.
    Octave = highest(Ns, 0),
    Part = (Ns bsr (Octave - 3)) band (?SUB - 1),
    min(?CELLS, (Octave - 2) * ?SUB + Part + 1).

-spec highest(pos_integer(), non_neg_integer()) -> non_neg_integer().
highest(1, Bit) -> Bit;
highest(N, Bit) when N >= 1 bsl 32 -> highest(N bsr 32, Bit + 32);
highest(N, Bit) when N >= 1 bsl 8 -> highest(N bsr 8, Bit + 8);
highest(N, Bit) -> highest(N bsr 1, Bit + 1).

%% @doc The smallest value in a cell, and the smallest value above the cell, in nanoseconds.
-spec bounds(pos_integer()) -> {non_neg_integer(), pos_integer()}.
bounds(Cell) when Cell =< ?SUB ->
    {Cell - 1, Cell};
bounds(Cell) ->
    Octave = (Cell - 1) div ?SUB + 2,
    Part = (Cell - 1) rem ?SUB,
    Width = 1 bsl (Octave - 3),
    Low = (?SUB + Part) * Width,
    {Low, Low + Width}.

upper_us(Cell) ->
    {_, High} = bounds(Cell),
    High / 1000.
