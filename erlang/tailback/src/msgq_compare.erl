%% @private
%% @doc Runs the same server behind each of the two dams, and with a nearly empty queue. See
%% {@link msgq_flood:compare/1}.
-module(msgq_compare).

-export([run/3]).

-type fault() :: {atom(), binary()}.
-type run() :: #{atom() => term()}.

%% @doc Makes all runs in the calling process. Start that process for this call alone.
-spec run(map(), atom(), atom()) ->
    {ok, #{reference | threshold | credit := run()}} | {error, fault()}.
run(#{print := Print} = Options, Server, Dam) ->
    Plan = [
        fun() -> reference(Options, Server) end,
        fun() -> flood(credit, Options, Server, Dam) end,
        fun() -> reference(Options, Server) end,
        fun() -> flood(threshold, Options, Server, Dam) end,
        fun() -> reference(Options, Server) end
    ],
    case each(Plan, []) of
        {ok, [R1, Credit, R2, Threshold, R3]} ->
            Reference = together([R1, R2, R3]),
            Runs = #{
                reference => against(Reference, Reference),
                threshold => against(Reference, Threshold),
                credit => against(Reference, Credit)
            },
            _ = [io:put_chars(table(Runs)) || Print],
            {ok, Runs};
        Fault ->
            Fault
    end.

each([], Done) ->
    {ok, lists:reverse(Done)};
each([Step | Rest], Done) ->
    case msgq_guarded:run(Step) of
        {ok, Run} -> each(Rest, [Run | Done]);
        {error, Fault} -> {error, Fault}
    end.

-spec flood(threshold | credit, map(), atom(), atom()) -> {ok, run()} | {error, fault()}.
flood(Kind, Options, Server, Dam) ->
    #{dam_options := DamOptions, original_for_ms := Cut, timeout_ms := Limit} = Options,
    {Of, Most} =
        case Kind of
            credit -> {DamOptions, Limit};
            threshold -> {#{}, Cut}
        end,
    Chosen = maps:with([sink, senders, messages, message, memory_limit_bytes], Options),
    case msgq_options:measure(Chosen#{dam => Kind, dam_options => Of, timeout_ms => Most}) of
        {ok, Trial} -> checked(msgq_trial:run(Trial, Server, Dam));
        Fault -> Fault
    end.

checked({ok, #{drain_rate := Rate} = Result}) ->
    Keys = [
        outcome, sent, drained, lost, duplicated, out_of_order, failed,
        server_queue_high, dam_queue_high, both_queues_high
    ],
    {ok, (maps:with(Keys, Result))#{rate => Rate}};
checked(Fault) ->
    Fault.

%% ---- the reference

reference(#{sink := Sink, message := Form, reference := Writes}, Server) ->
    Tally = msgq_tally:new(1, Writes),
    case msgq_server:start_link(Server, #{sink => Sink, tally => Tally, quiet => true}) of
        {ok, Pid} ->
            Start = erlang:monotonic_time(nanosecond),
            ok = msgq_feeder:feed(Pid, Writes, Form),
            Ns = max(1, erlang:monotonic_time(nanosecond) - Start),
            true = unlink(Pid),
            ok = gen_server:stop(Pid),
            {ok, fed(msgq_tally:read(Tally), Writes, Ns)};
        {error, Fault} ->
            {error, Fault}
    end.

fed(#{handled := Handled} = Counts, Writes, Ns) ->
    #{
        outcome => drained,
        sent => Writes,
        drained => Handled,
        lost => Writes - Handled,
        duplicated => maps:get(duplicated, Counts),
        out_of_order => maps:get(out_of_order, Counts),
        failed => maps:get(failed, Counts),
        server_queue_high => msgq_feeder:most(Writes),
        dam_queue_high => 0,
        both_queues_high => msgq_feeder:most(Writes),
        rate => Handled * 1.0e9 / Ns
    }.

%% Adds up the counts and the times of several runs, as if they were one run.
together([First | _] = Runs) ->
    Sums = maps:from_list([
        {Key, lists:sum([maps:get(Key, Run) || Run <- Runs])}
     || Key <- [sent, drained, lost, duplicated, out_of_order, failed]
    ]),
    Seconds = lists:sum([Drained / Rate || #{drained := Drained, rate := Rate} <- Runs]),
    maps:merge(First, Sums#{rate => maps:get(drained, Sums) / Seconds}).

against(#{rate := Reference}, #{rate := Rate} = Run) -> Run#{of_reference => Rate / Reference}.

%% ---- as text

table(Runs) ->
    [
        io_lib:format("~-20s~10s~8s~10s~10s~8s~7s~7s~10s~10s~n", [
            "", "RATE/S", "%", "SENT", "ARRIVED", "LOST", "TWICE", "ORDER", "SERVER", "DAM"
        ]),
        [
            row(Title, maps:get(Key, Runs))
         || {Key, Title} <- [
                {reference, "queue nearly empty"},
                {credit, "credit dam"},
                {threshold, "the original's dam"}
            ]
        ]
    ].

row(Title, #{rate := Rate, of_reference := Of, outcome := Outcome} = Run) ->
    #{sent := Sent, drained := Drained, lost := Lost, duplicated := Twice} = Run,
    #{out_of_order := Order, server_queue_high := Server, dam_queue_high := Dam} = Run,
    io_lib:format("~-20s~10b~8b~10b~10b~8w~7b~7b~10b~10b~ts~n", [
        Title, round(Rate), round(100 * Of), Sent, Drained, Lost, Twice, Order, Server, Dam, cut(Outcome)
    ]).

cut(timeout) -> "  (cut off)";
cut(_) -> "".
