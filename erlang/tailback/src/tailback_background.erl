%% @private
%% @doc Background work: processes of low priority that count the pieces of work they finish.
%%
%% Each process does a piece of well under a millisecond of CPU time, then rests. So it uses a
%% small part of a CPU, and does less when it is kept from running.
-module(tailback_background).

-export([start/1, stop/1]).
-export_type([background/0]).

-opaque background() :: {counters:counters_ref(), [pid()]}.

%% Loop turns in one piece.
-define(TURNS, 200000).
-define(REST_MS, 10).

%% @doc Starts `Count' processes.
-spec start(non_neg_integer()) -> background().
start(Count) ->
    Pieces = counters:new(1, [write_concurrency]),
    Worker = fun() -> work(Pieces) end,
    {Pieces, [spawn_opt(Worker, [link, {priority, low}]) || _ <- lists:seq(1, Count)]}.

%% @doc Ends the processes; returns how many pieces they finished together.
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
