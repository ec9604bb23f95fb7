%% @doc Runs a function that may take schedulers offline, and brings them back afterwards.
-module(wait_online).

-export([restoring/1, set/1]).

%% How often, and how long between: ten seconds are more than any VM was seen to take.
-define(TRIES, 2000).
-define(PAUSE_MS, 5).

%% Both processes answer by ending.
-dialyzer({no_return, [restoring/1, guard/2]}).

%% @doc Applies a function in a process of its own and answers what it answers.
%%
%% When that process ends, however it ends, a guard sets the numbers of online schedulers to what
%% they were. It does so as well when the caller ends, which ends the function too. A function that
%% crashes is `{error, {broken_off, Line}}'.
-spec restoring(fun(() -> Answer)) -> Answer | {error, {broken_off, binary()}}.
restoring(Function) ->
    Caller = self(),
    {Guard, Monitor} = spawn_monitor(fun() -> guard(Caller, Function) end),
    receive
        {'DOWN', Monitor, process, Guard, {answer, Answer}} -> Answer;
        {'DOWN', Monitor, process, Guard, Reason} -> broken_off(Reason)
    end.

%% @doc Sets how many normal schedulers are online; the VM adapts the dirty CPU ones.
-spec set(pos_integer()) -> ok.
set(Count) ->
    _ = erlang:system_flag(schedulers_online, Count),
    ok.

-spec broken_off(term()) -> {error, {broken_off, binary()}}.
broken_off(Reason) ->
    {error, {broken_off, wait_text:line("it was broken off: ~0tP; run it again", [Reason, 20])}}.

%% At high priority: it has to run while the schedulers are full of work.
-spec guard(pid(), fun(() -> term())) -> no_return().
guard(Caller, Function) ->
    normal = process_flag(priority, high),
    Before = {
        erlang:system_info(schedulers_online), erlang:system_info(dirty_cpu_schedulers_online)
    },
    CallerMonitor = erlang:monitor(process, Caller),
    {Pid, Monitor} = spawn_monitor(fun() -> answer(Function) end),
    receive
        {'DOWN', Monitor, process, Pid, Reason} ->
            ok = restore(Before),
            exit(Reason);
        {'DOWN', CallerMonitor, process, Caller, _} ->
            exit(Pid, kill),
            ok = restore(Before),
            exit(caller_gone)
    end.

-spec answer(fun(() -> term())) -> no_return().
answer(Function) ->
    exit({answer, Function()}).

%% The normal ones first: the VM changes the dirty CPU ones with them, some time after the call has
%% returned, and may undo a setting of those made meanwhile. So they are set until it holds.
-spec restore({pos_integer(), pos_integer()}) -> ok.
restore({Normal, DirtyCpu}) ->
    ok = set(Normal),
    set_dirty_cpu(DirtyCpu, ?TRIES).

-spec set_dirty_cpu(pos_integer(), non_neg_integer()) -> ok.
set_dirty_cpu(_, 0) ->
    ok;
set_dirty_cpu(Count, Left) ->
    _ = erlang:system_flag(dirty_cpu_schedulers_online, Count),
    ok = timer:sleep(?PAUSE_MS),
    case erlang:system_info(dirty_cpu_schedulers_online) of
        Count -> ok;
        _ -> set_dirty_cpu(Count, Left - 1)
    end.
