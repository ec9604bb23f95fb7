%% @private
%% @doc Runs a function in a process of its own that cannot outlive its caller. However that
%% process ends, the caller gets a value. The links, flags and mailbox of the caller stay
%% unchanged.
-module(msgq_guarded).

-export([run/1]).

%% @doc Returns the value of the function, or an error if the process failed.
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
            %% Waits until the process has ended, so that nothing of it is left on return.
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
        %% Not killed, so that its linked processes end in order, without a report from each.
        {'DOWN', Of, process, _, _} -> exit(Worker, shutdown);
        {'DOWN', With, process, _, _} -> true
    end.
