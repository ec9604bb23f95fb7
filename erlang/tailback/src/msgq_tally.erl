%% @private
%% @doc Counts the messages that the server has handled: each message once, the repeated ones, and
%% those out of order.
%%
%% It lives outside the server, so it survives when the server is killed. The cost for each
%% message is about the same, whatever came before. It allows one writer at a time.
-module(msgq_tally).

-export([new/2, record/3, read/1, last_ns/1, handled/1]).

-export_type([tally/0]).

-record(tally, {
    seen :: atomics:atomics_ref(),
    last :: atomics:atomics_ref(),
    figures :: atomics:atomics_ref(),
    messages :: pos_integer()
}).

-opaque tally() :: #tally{}.

%% Bits used in a word: few enough that the word stays a small integer.
-define(BITS, 32).
-define(DISTINCT, 1).
-define(DUPLICATED, 2).
-define(OUT_OF_ORDER, 3).
-define(FAILED, 4).
-define(LAST_NS, 5).

%% @doc Makes a tally for `Senders' senders with `Messages' messages each, both numbered from 1.
-spec new(pos_integer(), pos_integer()) -> tally().
new(Senders, Messages) ->
    #tally{
        seen = atomics:new(Senders * Messages div ?BITS + 1, [{signed, false}]),
        last = atomics:new(Senders, []),
        figures = atomics:new(5, []),
        messages = Messages
    }.

%% @doc Records that one message was handled; `failed' if its write failed.
-spec record(tally(), {pos_integer(), pos_integer()}, written | failed) -> ok.
record(#tally{figures = Figures} = Tally, {Sender, Number}, Outcome) ->
    case first_time(Tally, Sender, Number) of
        true ->
            ok = atomics:add(Figures, ?DISTINCT, 1),
            ok = order(Tally, Sender, Number);
        false ->
            ok = atomics:add(Figures, ?DUPLICATED, 1)
    end,
    ok = atomics:add(Figures, ?FAILED, length([failed || Outcome =:= failed])),
    atomics:put(Figures, ?LAST_NS, erlang:monotonic_time(nanosecond)).

first_time(#tally{seen = Seen, messages = Messages}, Sender, Number) ->
    Index = (Sender - 1) * Messages + Number - 1,
    Word = Index div ?BITS + 1,
    Bit = 1 bsl (Index rem ?BITS),
    Bits = atomics:get(Seen, Word),
    case Bits band Bit of
        0 ->
            ok = atomics:put(Seen, Word, Bits bor Bit),
            true;
        _ ->
            false
    end.

order(#tally{last = Last, figures = Figures}, Sender, Number) ->
    case atomics:get(Last, Sender) of
        Before when Before < Number -> atomics:put(Last, Sender, Number);
        _ -> atomics:add(Figures, ?OUT_OF_ORDER, 1)
    end.

%% @doc Messages handled; each message counts once.
-spec handled(tally()) -> non_neg_integer().
handled(#tally{figures = Figures}) -> atomics:get(Figures, ?DISTINCT).

%% @doc When the last message was handled, in nanoseconds of the monotonic clock, which is usually
%% negative; `none' if no message was handled.
-spec last_ns(tally()) -> integer() | none.
last_ns(#tally{figures = Figures}) ->
    case atomics:get(Figures, ?LAST_NS) of
        0 -> none;
        Ns -> Ns
    end.

%% @doc `handled': different messages; `duplicated': messages handled again; `out_of_order':
%% messages handled for the first time after a later one of the same sender; `failed': failed
%% writes.
-spec read(tally()) -> #{handled | duplicated | out_of_order | failed := non_neg_integer()}.
read(#tally{figures = Figures}) ->
    #{
        handled => atomics:get(Figures, ?DISTINCT),
        duplicated => atomics:get(Figures, ?DUPLICATED),
        out_of_order => atomics:get(Figures, ?OUT_OF_ORDER),
        failed => atomics:get(Figures, ?FAILED)
    }.
