%% @private
%% @doc A process that never looks at the messages in its mailbox.
%%
%% A flood of the decoy loads the node like a flood of the server: as many messages are sent,
%% copied and kept. But they do not wait in the mailbox of the measured process.
-module(msgq_decoy).

-export([start_link/1, stop/1]).

%% A decoy never returns.
-dialyzer({no_return, start_link/1}).

%% @doc Starts a decoy, linked to the caller. The caller suspends it, so not even a message wakes
%% it.
-spec start_link(#{message_queue_data := on_heap | off_heap, _ => _}) -> pid().
start_link(#{message_queue_data := Where}) ->
    Pid = spawn_opt(fun() -> idle() end, [link, {message_queue_data, Where}]),
    true = erlang:suspend_process(Pid),
    Pid.

%% @doc Ends the decoy. On return, the decoy and its messages are gone.
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
