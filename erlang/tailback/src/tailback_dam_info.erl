%% @private
%% @doc Reads the figures of a dam from its shared table and counters, without a message to it.
-module(tailback_dam_info).

-export([read/1]).

%% @doc See {@link tailback_dam:info/1}; fails with `badarg' if the dam is gone.
-spec read(tailback_dam_queue:handle()) -> #{atom() => non_neg_integer() | atom()}.
read(Handle) ->
    Figures = maps:from_list([{Name, tailback_dam_queue:figure(Handle, Name)} || Name <- names()]),
    Size = tailback_dam_queue:size(Handle),
    Queued = min(Size, tailback_dam_queue:capacity(Handle)),
    Figures#{
        queued => Queued,
        waiting => Size - Queued,
        accepted => maps:get(taken, Figures) + Queued,
        dam_mailbox => mailbox(tailback_dam_queue:dam(Handle)),
        capacity => tailback_dam_queue:capacity(Handle),
        policy => tailback_dam_queue:policy(Handle),
        state => tailback_dam_queue:state(Handle)
    }.

-spec mailbox(pid()) -> non_neg_integer().
mailbox(Dam) ->
    case process_info(Dam, message_queue_len) of
        {message_queue_len, N} -> N;
        undefined -> error(badarg)
    end.

-spec names() -> [tailback_dam_queue:figure()].
names() ->
    [
        longest_wait_us,
        taken,
        delivered,
        in_flight,
        dam_mailbox_high,
        server_mailbox_high,
        mailboxes_high,
        redelivered,
        poisoned,
        dropped_new,
        dropped_old,
        timed_out,
        restarts,
        holds,
        rejected
    ].
