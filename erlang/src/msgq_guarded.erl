%% @doc Runs something in a process of its own that cannot outlive its caller, and whose end,
%% however it comes, is a value. The caller's links, flags and mailbox stay as they are.
-module(msgq_guarded).

-export([run/1]).

%% @doc The function's value, or an error if it failed.
-spec run(fun(() -> Answer)) -> Answer | {error, {atom(), binary()}}.
run(Fun) ->
    Caller = self(),
    Ref = make_ref(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Worker = self(),
        _ = spawn(fun() -> guard(Caller, Worker) end),
        Caller ! {Ref, Fun()}
    end),
    receive
        {Ref, Answer} ->
            %% Ended before this returns: nothing of it is left then.
            receive
                {'DOWN', Monitor, process, Pid, _} -> Answer
            end;
        {'DOWN', Monitor, process, Pid, Why} ->
            Format = "flood: ended before it was done: ~0tP",
            {error, {failed, tailback_dam_text:line(Format, [Why, 20])}}
    end.

guard(Caller, Worker) ->
    Of = monitor(process, Caller),
    With = monitor(process, Worker),
    receive
        %% Not killed: what is linked to it ends in order then, without a report for each.
        {'DOWN', Of, process, _, _} -> exit(Worker, shutdown);
        {'DOWN', With, process, _, _} -> true
    end.
