%% @doc Background work: processes of low priority that count what they get done.
%%
%% Each does a piece of well under a millisecond of CPU time, rests, and goes on; so it takes a
%% small part of a CPU, and does less where it is kept from running.
-module(tailback_background).

-export([start/1, stop/1]).
-export_type([background/0]).

-opaque background() :: {counters:counters_ref(), [pid()]}.

%% Turns of a loop that make a piece.
-define(TURNS, 200000).
-define(REST_MS, 10).

%% @doc Starts so many processes.
-spec start(non_neg_integer()) -> background().
start(Count) ->
    Pieces = counters:new(1, [write_concurrency]),
    Worker = fun() -> work(Pieces) end,
    {Pieces, [spawn_opt(Worker, [link, {priority, low}]) || _ <- lists:seq(1, Count)]}.

%% @doc Ends them; how many pieces they did together.
-spec stop(background()) -> non_neg_integer().
stop({Pieces, Pids}) ->
    Done = counters:get(Pieces, 1),
    _ = [unlink(Pid) || Pid <- Pids],
    _ = [exit(Pid, kill) || Pid <- Pids],
    Done.

-spec work(counters:counters_ref()) -> no_return().
work(Pieces) ->
    ok = turn(?TURNS),
    ok = counters:add(Pieces, 1, 1),
    receive
    after ?REST_MS -> work(Pieces)
    end.

-spec turn(non_neg_integer()) -> ok.
turn(0) -> ok;
turn(N) -> turn(N - 1).
