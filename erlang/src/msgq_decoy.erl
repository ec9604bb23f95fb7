%% @doc A process in whose mailbox messages wait and which never looks at them.
%%
%% Who floods it loads the node as a flood of the server does: as many messages are sent, copied and
%% kept. Only they do not wait in the mailbox of the process that is measured.
-module(msgq_decoy).

-export([start_link/1, stop/1]).

%% A decoy never returns.
-dialyzer({no_return, start_link/1}).

%% @doc Starts one, linked to the caller, which holds it suspended: it is not even woken by a
%% message.
-spec start_link(#{message_queue_data := on_heap | off_heap, _ => _}) -> pid().
start_link(#{message_queue_data := Where}) ->
    Pid = spawn_opt(fun() -> idle() end, [link, {message_queue_data, Where}]),
    true = erlang:suspend_process(Pid),
    Pid.

%% @doc Ends it. When this returns it and its messages are gone.
-spec stop(pid()) -> ok.
stop(Pid) ->
    true = unlink(Pid),
    Monitor = monitor(process, Pid),
    true = exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

-spec idle() -> no_return().
idle() ->
    receive
    after infinity -> idle()
    end.
