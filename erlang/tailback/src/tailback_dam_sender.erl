%% @private
%% @doc The sender's side of the dam. This code runs in the process that sends.
-module(tailback_dam_sender).

-export([submit/5, flush/2]).
%% For the test of a sender that comes while the dam stops.
-export([admit/5]).

-import(tailback_dam_queue, [capacity/1, policy/1, ring/1]).

%% While the table is more than half full, a sender yields after this many messages, on average.
-define(TURN, 32).

%% @doc Offers one message. With `accept' it returns when the dam has the message, with `confirm'
%% when the server has handled it.
-spec submit(
    tailback_dam:dam(),
    tailback_dam_queue:lane(),
    accept | confirm,
    tailback_dam_queue:payload(),
    timeout()
) -> ok | {error, tailback_dam:reason()}.
submit(Dam, Lane, Kind, Payload, Timeout) ->
    try
        Handle = tailback_dam_queue:handle(Dam),
        case tailback_dam_queue:state(Handle) of
            open -> admit(Handle, tailback_dam_queue:ticket(Handle, Lane), Kind, Payload, Timeout);
            gone -> refused(Handle, server_gone);
            closing -> refused(Handle, closing)
        end
    catch
        error:badarg -> {error, no_dam}
    end.

%% A dam that died leaves its last state behind, but not its table.
refused(Handle, Reason) ->
    _ = tailback_dam_queue:size(Handle),
    {error, Reason}.

%% @doc Waits until the server has handled everything that is in the normal lane at the call.
-spec flush(tailback_dam:dam(), timeout()) -> ok | {error, tailback_dam:reason()}.
flush(Dam, Timeout) ->
    try
        Handle = tailback_dam_queue:handle(Dam),
        wait(Handle, tailback_dam_queue:ticket(Handle, normal), confirm, {insert, flush}, Timeout)
    catch
        error:badarg -> {error, no_dam}
    end.

%% @doc What {@link submit/5} does after it found the dam open.
-spec admit(
    tailback_dam_queue:handle(),
    tailback_dam_queue:key(),
    accept | confirm,
    tailback_dam_queue:payload(),
    timeout()
) -> ok | {error, tailback_dam:reason()}.
admit(Handle, Key, confirm, Payload, Timeout) ->
    confirm(policy(Handle), Handle, Key, Payload, Timeout);
admit(Handle, Key, accept, Payload, Timeout) ->
    true = tailback_dam_queue:insert(Handle, Key, none, Payload),
    %% Looks at the state again. If the dam is still open, the flush of a later stop is behind this
    %% row and waits for it. Otherwise the dam could end with the row, and nobody would learn of it.
    case tailback_dam_queue:state(Handle) of
        closing -> take_back(Handle, Key);
        _ -> accept(policy(Handle), Handle, Key, Timeout)
    end.

take_back(Handle, Key) ->
    try tailback_dam_queue:withdraw(Handle, Key) of
        true -> {error, closing};
        %% The dam has taken the row: it delivers it, or counts it as undelivered.
        false -> ok
    catch
        error:badarg -> {error, dam_down}
    end.

confirm(block, Handle, Key, Payload, Timeout) ->
    wait(Handle, Key, confirm, {insert, Payload}, Timeout);
confirm(drop_new, Handle, Key, Payload, Timeout) ->
    case tailback_dam_queue:size(Handle) >= capacity(Handle) of
        true -> dropped_new(Handle);
        false -> wait(Handle, Key, confirm, {insert, Payload}, Timeout)
    end;
confirm(drop_old, Handle, Key, Payload, Timeout) ->
    drop_old(Handle),
    wait(Handle, Key, confirm, {insert, Payload}, Timeout).

%% The row of the message is in the table.
accept(block, Handle, Key, Timeout) ->
    Capacity = capacity(Handle),
    %% The size is read after the insert, since other senders may have come at the same time. A
    %% sender that finds no room has to wait.
    case tailback_dam_queue:size(Handle) of
        Size when Size > Capacity -> wait(Handle, Key, accept, update, Timeout);
        Size -> accepted(Handle, Key, Size)
    end;
accept(drop_new, Handle, Key, _) ->
    Size = tailback_dam_queue:size(Handle),
    case Size > capacity(Handle) andalso tailback_dam_queue:withdraw(Handle, Key) of
        true -> dropped_new(Handle);
        false -> accepted(Handle, Key, Size)
    end;
accept(drop_old, Handle, Key, _) ->
    drop_old(Handle),
    accepted(Handle, Key, 0).

dropped_new(Handle) ->
    ok = tailback_dam_queue:count(Handle, dropped_new, 1),
    {error, dropped}.

drop_old(Handle) ->
    Dropped = tailback_dam_queue:drop_oldest(Handle),
    lists:foreach(fun tell_dropped/1, Dropped),
    tailback_dam_queue:count(Handle, dropped_old, length(Dropped)).

tell_dropped({_, {_, Ref, _}, _}) -> Ref ! {Ref, {error, dropped}};
tell_dropped(_) -> ok.

accepted(Handle, Key, Size) ->
    ok = ring(Handle),
    case 2 * Size > capacity(Handle) andalso Key rem ?TURN =:= 0 of
        true -> erlang:yield();
        false -> true
    end,
    ok.

%% The reference is made in the function that receives by it. So the receive starts after what was
%% already in the mailbox, and a sender with a long mailbox does not scan it.
wait(Handle, Key, Kind, How, Timeout) ->
    Start = erlang:monotonic_time(),
    Ref = monitor(process, tailback_dam_queue:dam(Handle), [{alias, reply_demonitor}]),
    case place(Handle, Key, {Kind, Ref, self()}, How) of
        placed ->
            receive
                {Ref, Answer} ->
                    waited(Handle, Kind, Start),
                    Answer;
                {'DOWN', Ref, process, _, _} ->
                    {error, dam_down}
            after Timeout -> give_up(Handle, Key, Kind, Ref)
            end;
        taken ->
            true = demonitor(Ref, [flush]),
            ok;
        no_dam ->
            true = demonitor(Ref, [flush]),
            {error, no_dam}
    end.

place(Handle, Key, Waiter, How) ->
    try
        Placed =
            case How of
                {insert, Payload} -> tailback_dam_queue:insert(Handle, Key, Waiter, Payload);
                update -> tailback_dam_queue:make_waiter(Handle, Key, Waiter)
            end,
        ok = ring(Handle),
        case Placed of
            true -> placed;
            false -> taken
        end
    catch
        error:badarg -> no_dam
    end.

waited(Handle, accept, Start) ->
    Waited = erlang:monotonic_time() - Start,
    Us = erlang:convert_time_unit(Waited, native, microsecond),
    tailback_dam_queue:raise(Handle, longest_wait_us, Us);
waited(_, confirm, _) ->
    ok.

%% The sender leaves first, then looks for an answer, and only then ends its alias. The dam answers
%% a sender that it rejects before it removes the row. So if the row is gone and there is no answer,
%% the dam has taken the row.
give_up(Handle, Key, Kind, Ref) ->
    Outcome = leave(Handle, Key, Kind),
    Answer = answer(Ref),
    true = demonitor(Ref, [flush]),
    %% One may have come between the look and the end of the alias.
    _ = answer(Ref),
    gave_up(Handle, Kind, Outcome, Answer).

answer(Ref) ->
    receive
        {Ref, Answer} -> Answer
    after 0 -> none
    end.

%% The row stays as an accepted one if there is room by now, else it is withdrawn, unless the dam
%% was faster.
leave(Handle, Key, Kind) ->
    try
        case Kind =:= accept andalso stays(Handle, Key) of
            true -> accepted;
            false -> withdraw(Handle, Key)
        end
    catch
        error:badarg -> no_dam
    end.

%% As for a new message, the size is read while the row is in the table.
stays(Handle, Key) ->
    tailback_dam_queue:size(Handle) =< capacity(Handle) andalso
        tailback_dam_queue:make_waiter(Handle, Key, none).

withdraw(Handle, Key) ->
    case tailback_dam_queue:withdraw(Handle, Key) of
        true -> withdrawn;
        false -> removed
    end.

gave_up(_, _, accepted, _) -> ok;
gave_up(Handle, _, withdrawn, _) -> timed_out(Handle);
gave_up(_, _, _, Answer) when Answer =/= none -> Answer;
gave_up(_, _, no_dam, none) -> {error, dam_down};
%% Removed without an answer: the dam has taken the row.
gave_up(_, accept, removed, none) -> ok;
gave_up(Handle, confirm, removed, none) -> timed_out(Handle).

timed_out(Handle) ->
    ok = tailback_dam_queue:count(Handle, timed_out, 1),
    {error, timeout}.
