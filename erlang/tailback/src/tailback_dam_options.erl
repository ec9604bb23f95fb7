%% @private
%% @doc Checks the options of a dam and fills in the defaults.
-module(tailback_dam_options).

-export([check/1]).

-export_type([checked/0]).

-type checked() :: #{
    bound := pos_integer(),
    window := pos_integer(),
    batch := pos_integer(),
    batches := pos_integer(),
    capacity := pos_integer(),
    pause_above := pos_integer(),
    policy := tailback_dam:policy(),
    as := cast | info,
    gone_after := non_neg_integer() | infinity,
    attempts := pos_integer() | infinity
}.

%% Most batches in flight. In a flood, half a window goes out at once, so that dam and server
%% seldom wake each other. The other two batches are for messages that come one by one.
-define(BATCHES, 4).
-define(HALVES, 2).
%% Room for markers, rings, timers and a few messages of other processes.
-define(SPARE, 24).
%% The dam pauses when the mailbox of the server has more messages than a window and these, which
%% are markers and messages of others.
-define(OTHERS, 8).

%% @doc Returns the options with their defaults, or a line that says what is wrong.
-spec check(map()) -> {ok, checked()} | {error, binary()}.
check(Given) ->
    Options = maps:merge(defaults(), Given),
    Faults = [fault(Key, Value) || {Key, Value} <- maps:to_list(Options)],
    case [Line || Line <- Faults, Line =/= none] of
        [] -> room(Options);
        [Line | _] -> {error, Line}
    end.

-spec defaults() -> tailback_dam:options().
defaults() ->
    #{
        bound => 1000,
        window => 64,
        policy => block,
        as => cast,
        gone_after => 5000,
        attempts => 3
    }.

-spec fault(term(), term()) -> none | binary().
fault(bound, N) when is_integer(N), N > 0, N =< 1000000 -> none;
fault(bound, V) -> line(bound, V, "a number from 1 to 1000000");
fault(window, N) when is_integer(N), N >= ?BATCHES, N =< 10000 -> none;
fault(window, V) -> line(window, V, "a number from 4 to 10000");
fault(policy, P) when P =:= block; P =:= drop_new; P =:= drop_old -> none;
fault(policy, V) -> line(policy, V, "block, drop_new or drop_old");
fault(as, As) when As =:= cast; As =:= info -> none;
fault(as, V) -> line(as, V, "cast or info");
fault(gone_after, infinity) -> none;
fault(gone_after, N) when is_integer(N), N >= 0 -> none;
fault(gone_after, V) -> line(gone_after, V, "milliseconds or infinity");
fault(attempts, infinity) -> none;
fault(attempts, N) when is_integer(N), N > 0 -> none;
fault(attempts, V) -> line(attempts, V, "a number above 0 or infinity");
fault(Key, V) -> line(Key, V, "no such option").

-spec line(term(), term(), string()) -> binary().
line(Key, Value, Wanted) ->
    tailback_dam_text:line("dam option ~0tp: ~0tP; want ~ts", [Key, Value, 12, Wanted]).

%% Every message that may be in the mailbox of the server counts against the bound. The dam goes on
%% while there are a window and a few others. If the server is suspended then, two more windows may
%% arrive before the dam looks again.
-spec room(map()) -> {ok, checked()} | {error, binary()}.
room(#{bound := Bound, window := Window} = Options) ->
    PauseAbove = Window + ?OTHERS,
    Reserved = PauseAbove + 2 * Window + ?SPARE,
    case Bound - Reserved of
        Capacity when Capacity > 0 ->
            {ok, Options#{
                capacity => Capacity,
                batch => Window div ?HALVES,
                batches => ?BATCHES,
                pause_above => PauseAbove
            }};
        _ ->
            Wanted = io_lib:format("more than ~b for a window of ~b", [Reserved, Window]),
            {error, line(bound, Bound, lists:flatten(Wanted))}
    end.
