%% @private
%% @doc The senders of a flood.
-module(msgq_senders).

-export([start/1, release/1, stop/1, progress/1, payload/1, fresh/1, offer/3]).

-export_type([senders/0, form/0, way/0]).

-type form() :: byte | small | refc | {large, pos_integer()}.
%% One byte; 20 bytes; a reference-counted binary of 70 bytes; or the given number of bytes.
-type way() :: direct | handled | threshold | credit.
%% `handled': straight to the server; the sender waits until the server has handled each message.
-record(senders, {starter :: pid(), counts :: counters:counters_ref()}).
-opaque senders() :: #senders{}.

-define(SENT, 1).
-define(REFUSED, 2).
-define(FINISHED, 3).

%% @doc Starts senders that are linked to the caller and wait for {@link release/1}. It returns when
%% all of them are started, so that starting them takes no time of the flood. `to' is the name of
%% the server or dam. `waits' is a histogram of the time that each message took to send.
-spec start(#{
    senders := pos_integer(),
    messages := pos_integer(),
    message := form(),
    way := way(),
    to := atom(),
    waits := msgq_histogram:histogram() | none
}) -> senders().
start(Options) ->
    Counts = counters:new(3, [write_concurrency]),
    Caller = self(),
    %% All senders are linked to one process. When it ends, they end.
    Starter = spawn_link(fun() -> launch(Options, Counts, Caller) end),
    receive
        {started, Starter} -> ok
    end,
    #senders{starter = Starter, counts = Counts}.

%% @doc Lets the senders send.
-spec release(senders()) -> ok.
release(#senders{starter = Starter}) ->
    Starter ! release,
    ok.

%% @doc Ends the senders, even if they have not sent everything.
-spec stop(senders()) -> ok.
stop(#senders{starter = Starter}) ->
    true = unlink(Starter),
    Monitor = monitor(process, Starter),
    true = exit(Starter, kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

%% @doc Counts of messages that were sent, messages that the dam refused, and finished senders.
-spec progress(senders()) -> #{sent | refused | finished := non_neg_integer()}.
progress(#senders{counts = Counts}) ->
    #{
        sent => counters:get(Counts, ?SENT),
        refused => counters:get(Counts, ?REFUSED),
        finished => counters:get(Counts, ?FINISHED)
    }.

launch(#{senders := N} = Options, Counts, Caller) ->
    Pids = [spawn_link(fun() -> wait_for_release(I, Options, Counts) end) || I <- lists:seq(1, N)],
    Caller ! {started, self()},
    receive
        release -> lists:foreach(fun(Pid) -> Pid ! release end, Pids)
    end,
    receive
        stop -> ok
    end.

wait_for_release(Sender, Options, Counts) ->
    #{messages := Messages, message := Form, way := Way, to := To, waits := Waits} = Options,
    receive
        release -> ok
    end,
    case target(Way, To) of
        {ok, Target} -> send(Sender, 1, Messages, {Way, Target, payload(Form), Waits, Counts});
        {error, _} -> counters:add(Counts, ?REFUSED, Messages)
    end,
    counters:add(Counts, ?FINISHED, 1).

target(credit, To) -> tailback_dam:handle(To);
target(_, To) -> {ok, To}.

send(_, Number, Messages, _) when Number > Messages ->
    ok;
send(Sender, Number, Messages, {Way, Target, Payload, Waits, Counts} = How) ->
    Message = {log, {Sender, Number}, fresh(Payload)},
    Start = erlang:monotonic_time(nanosecond),
    Answer = offer(Way, Target, Message),
    ok = waited(Waits, erlang:monotonic_time(nanosecond) - Start),
    case Answer of
        ok -> counters:add(Counts, ?SENT, 1);
        {error, _} -> counters:add(Counts, ?REFUSED, 1)
    end,
    send(Sender, Number + 1, Messages, How).

%% @doc The bytes of one message. A reference-counted binary is copied for each message, as in a
%% program that logs.
-spec fresh(binary()) -> binary().
fresh(Payload) when byte_size(Payload) > 64 -> binary:copy(Payload);
fresh(Payload) -> Payload.

waited(none, _) -> ok;
waited(Waits, Ns) -> msgq_histogram:add(Waits, Ns).

%% @doc Sends one message the given way.
-spec offer(way(), tailback_dam:dam(), term()) ->
    ok | {error, tailback_dam:reason() | no_server}.
offer(direct, Server, Message) ->
    gen_server:cast(Server, Message);
offer(handled, Server, Message) ->
    ok = gen_server:cast(Server, Message),
    msgq_server:sync(Server, infinity);
offer(threshold, Dam, Message) ->
    tailback_dam_threshold:cast(Dam, Message);
offer(credit, Dam, Message) ->
    tailback_dam:cast(Dam, Message).

%% @doc The bytes of a message of that form.
-spec payload(form()) -> binary().
payload(byte) -> <<"x">>;
payload(small) -> binary:copy(<<"l">>, 20);
payload(refc) -> binary:copy(<<"r">>, 70);
payload({large, Bytes}) -> binary:copy(<<"z">>, Bytes).
