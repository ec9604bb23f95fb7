%% @private
%% @doc One worker of a run, and the board on which all workers note their times.
%%
%% Workers report through an array of atomic integers, so that not even a million workers fill a
%% mailbox. Only the last worker to be ready and the last one to finish send a message.
-module(wait_worker).

-export([new_board/1, spawn_all/3, times/2]).
-export([start/2]).
-export_type([board/0, task/0]).

-opaque board() :: atomics:atomics_ref().
-type task() :: #{
    job := wait_modes:job(), calls := non_neg_integer(), iterations := non_neg_integer()
}.

-record(worker, {
    owner :: pid(),
    board :: board(),
    count :: pos_integer(),
    task :: task()
}).

%% The first slots of the board; two slots for each worker follow.
-define(READY, 1).
-define(DONE, 2).
-define(FIXED, 2).

%% @doc A board for a number of workers.
-spec new_board(pos_integer()) -> board().
new_board(Count) ->
    atomics:new(?FIXED + 2 * Count, []).

%% @doc Spawns the workers, linked to the caller. This process spawns all of them, so they start
%% in its run queue.
%%
%% The caller gets `ready' when all of them wait for their `go', and `finished' when all are done.
-spec spawn_all(pos_integer(), board(), task()) -> [pid(), ...].
spawn_all(Count, Board, Task) ->
    Worker = #worker{owner = self(), board = Board, count = Count, task = Task},
    [spawn_link(?MODULE, start, [Worker, Index]) || Index <- lists:seq(1, Count)].

%% @doc When each worker took its `go' message and when it had finished, in native units, in the
%% order in which the workers were spawned.
-spec times(pos_integer(), board()) -> [{Start :: integer(), Finish :: integer()}, ...].
times(Count, Board) ->
    [
        {atomics:get(Board, start_slot(Index)), atomics:get(Board, start_slot(Index) + 1)}
     || Index <- lists:seq(1, Count)
    ].

%% @private
-spec start(#worker{}, pos_integer()) -> ok.
start(#worker{board = Board, task = Task} = Worker, Index) ->
    #{job := Job, calls := Calls, iterations := Iterations} = Task,
    Call = wait_modes:call(Job),
    ok = count(?READY, ready, Worker),
    receive
        go -> ok
    end,
    ok = atomics:put(Board, start_slot(Index), erlang:monotonic_time()),
    ok = repeat(Call, Calls),
    ok = wait_clock:busy_wait(Iterations),
    ok = atomics:put(Board, start_slot(Index) + 1, erlang:monotonic_time()),
    count(?DONE, finished, Worker).

-spec start_slot(pos_integer()) -> pos_integer().
start_slot(Index) -> ?FIXED + 2 * Index - 1.

-spec count(pos_integer(), ready | finished, #worker{}) -> ok.
count(Slot, News, #worker{owner = Owner, board = Board, count = Count}) ->
    case atomics:add_get(Board, Slot, 1) of
        Count ->
            Owner ! News,
            ok;
        _ ->
            ok
    end.

-spec repeat(fun(() -> any()), non_neg_integer()) -> ok.
repeat(_Call, 0) ->
    ok;
repeat(Call, Times) ->
    _ = Call(),
    repeat(Call, Times - 1).
