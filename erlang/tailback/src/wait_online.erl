%% @private
%% @doc Runs a function that may take schedulers offline, and brings them back afterwards.
-module(wait_online).

-export([restoring/1, set/1]).

%% Tries, and the pause between them: ten seconds in all, longer than any VM was seen to take.
-define(TRIES, 2000).
-define(PAUSE_MS, 5).

%% Both processes return their answer as their exit reason.
-dialyzer({no_return, [restoring/1, guard/2]}).

%% @doc Applies a function in a process of its own and returns its answer.
%%
%% However that process ends, a guard then sets the numbers of online schedulers back to their old
%% values. The guard does the same when the caller ends, and then ends the function too. If the
%% function crashes, the answer is `{error, {broken_off, Line}}'.
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

%% Runs at high priority, because it has to run while the schedulers are full of work.
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

%% Sets the normal schedulers first. The VM changes the dirty CPU schedulers with them, some time
%% after the call has returned, and may undo a setting that was made meanwhile. So the setting of
%% the dirty CPU schedulers is repeated until it holds.
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
