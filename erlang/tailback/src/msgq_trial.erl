%% @private
%% @doc One trial: a server, a dam or none, a flood, and the result. See
%% {@link msgq_flood:measure/1}.
-module(msgq_trial).

-export([run/3, mailbox/1, start_dam/4]).

-type options() :: map().
-type fault() :: {atom(), binary()}.

-record(trial, {
    options :: options(),
    server :: atom(),
    dam :: atom(),
    to :: atom(),
    tally :: msgq_tally:tally(),
    waits :: msgq_histogram:histogram(),
    senders :: msgq_senders:senders(),
    feeder :: none | pid(),
    start_ns :: integer(),
    samples :: msgq_samples:samples(),
    %% In milliseconds after the start: the kills still to come, and a restart that is due.
    kills :: [non_neg_integer()],
    restart = none :: none | non_neg_integer(),
    killed = 0 :: non_neg_integer(),
    idle = 0 :: non_neg_integer()
}).

%% Samples in a row that must find nothing queued before the trial ends without all messages.
-define(IDLE, 3).

%% @doc Runs the trial in the calling process, and links everything that it starts to that
%% process. Start that process for this call alone.
-spec run(options(), atom(), atom()) -> {ok, map()} | {error, fault()}.
run(Options, Server, Dam) ->
    _ = process_flag(priority, high),
    Tally = new_tally(Options),
    case start(Options, Server, Dam, Tally) of
        ok ->
            Trial = release(Options, Server, Dam, Tally),
            Answer = sample(Trial),
            ok = msgq_senders:stop(Trial#trial.senders),
            _ = [msgq_feeder:stop(Feeder) || Feeder <- [Trial#trial.feeder], Feeder =/= none],
            ok = stop(Dam),
            ok = stop(Server),
            Answer;
        Fault ->
            ok = stop(Dam),
            Fault
    end.

%% Nobody writes the messages of a decoy, so the server gets its messages from the feeder alone.
new_tally(#{mailbox := decoy, senders := Senders, messages := Messages}) ->
    msgq_tally:new(1, Senders * Messages);
new_tally(#{senders := Senders, messages := Messages}) ->
    msgq_tally:new(Senders, Messages).

%% A decoy takes the place and the name of a dam.
start(#{mailbox := decoy} = Options, Server, Dam, Tally) ->
    case start_server(Options, Server, Dam, Tally) of
        {ok, _} ->
            true = register(Dam, msgq_decoy:start_link(Options)),
            ok;
        {error, Fault} ->
            {error, Fault}
    end;
start(#{dam := Kind, dam_options := DamOptions} = Options, Server, Dam, Tally) ->
    case start_dam(Kind, Dam, Server, DamOptions) of
        ok ->
            case start_server(Options, Server, Dam, Tally) of
                {ok, _} ->
                    _ = [tailback_dam:connect(Dam) || Kind =:= credit],
                    ok;
                {error, Fault} ->
                    {error, Fault}
            end;
        Fault ->
            Fault
    end.

start_server(Options, Server, Dam, Tally) ->
    Keys = [sink, message_queue_data, fullsweep_after],
    Chosen = maps:with(Keys, Options),
    msgq_server:start_link(Server, Chosen#{tally => Tally, dam => Dam, quiet => true}).

%% @doc Starts a dam of that kind.
-spec start_dam(none | threshold | credit, atom(), atom(), map()) -> ok | {error, fault()}.
start_dam(none, _, _, _) ->
    ok;
start_dam(threshold, Dam, Server, Options) ->
    started(Dam, tailback_dam_threshold:start_link(Dam, Server, Options));
start_dam(credit, Dam, Server, Options) ->
    started(Dam, tailback_dam:start_link(Dam, Server, Options)).

started(_, {ok, _}) ->
    ok;
started(_, {error, {Name, Line}}) when is_binary(Line) ->
    {error, {Name, Line}};
started(Dam, {error, Why}) ->
    Line = tailback_dam_text:line("dam ~ts: cannot be started: ~0tP", [Dam, Why, 12]),
    {error, {dam_failed, Line}}.

stop(Name) ->
    case whereis(Name) of
        undefined ->
            ok;
        Pid ->
            true = unlink(Pid),
            Monitor = monitor(process, Pid),
            true = exit(Pid, kill),
            receive
                {'DOWN', Monitor, process, _, _} -> ok
            end
    end.

release(Options, Server, Dam, Tally) ->
    {Way, To} = way(Options, Server, Dam),
    Waits = msgq_histogram:new(),
    Flood = maps:with([senders, messages, message], Options),
    Senders = msgq_senders:start(Flood#{way => Way, to => To, waits => Waits}),
    #{kill_after_ms := Kills, sample_ms := Every} = Options,
    Start = erlang:monotonic_time(nanosecond),
    ok = msgq_senders:release(Senders),
    Feeder = feeder(Options, Server),
    #trial{
        options = Options,
        server = Server,
        dam = Dam,
        to = To,
        tally = Tally,
        waits = Waits,
        senders = Senders,
        feeder = Feeder,
        start_ns = Start,
        samples = msgq_samples:new(Every),
        kills = lists:sort(Kills)
    }.

way(#{mailbox := decoy}, _, Decoy) -> {direct, Decoy};
way(#{dam := none, pace := flood}, Server, _) -> {direct, Server};
way(#{dam := none, pace := one_at_a_time}, Server, _) -> {handled, Server};
way(#{dam := Kind}, _, Dam) -> {Kind, Dam}.

feeder(#{mailbox := decoy} = Options, Server) ->
    #{senders := Senders, messages := Messages, message := Form} = Options,
    msgq_feeder:start_link(Server, Senders * Messages, Form);
feeder(_, _) ->
    none.

sample(#trial{options = Options, server = Server, dam = Dam, start_ns = Start} = Trial) ->
    Ns = erlang:monotonic_time(nanosecond) - Start,
    Sample = #{
        at_us => Ns div 1000,
        server => count(mailbox(Server)),
        dam => count(mailbox(Dam)),
        held => held(Dam),
        memory => erlang:memory(total)
    },
    Next = kill_or_restart(Ns div 1000000, Trial#trial{
        samples = msgq_samples:add(Sample, Trial#trial.samples)
    }),
    case over(Ns div 1000000, Sample, Next) of
        {no, Last} ->
            receive
            after maps:get(sample_ms, Options) -> sample(Last)
            end;
        {memory_limit, _} ->
            {error, memory_limit(Sample, Options)};
        {Outcome, Last} ->
            {ok, result(Outcome, Last)}
    end.

over(Ms, Sample, #trial{options = Options, tally = Tally, senders = Senders} = Trial) ->
    #{senders := N, messages := M, timeout_ms := Limit, memory_limit_bytes := Most} = Options,
    #{finished := Finished} = msgq_senders:progress(Senders),
    Queued = lists:sum(maps:values(maps:with([server, dam, held], Sample))),
    Idle = Finished =:= N andalso Queued =:= 0,
    case msgq_tally:handled(Tally) of
        %% The last message can be handled before its sender has noted that it was sent.
        All when All =:= N * M, Finished =:= N -> {drained, Trial};
        _ when map_get(memory, Sample) > Most -> {memory_limit, Trial};
        _ when Ms >= Limit -> {timeout, Trial};
        _ when not Idle; Trial#trial.restart =/= none -> {no, Trial#trial{idle = 0}};
        _ when Trial#trial.idle < ?IDLE -> {no, Trial#trial{idle = Trial#trial.idle + 1}};
        _ -> settled(Trial)
    end.

%% Nothing is queued: the server is handling its last message, or it is done.
settled(#trial{server = Server} = Trial) ->
    case msgq_server:sync(Server, tailback_sink:limit()) of
        {error, timeout} -> {no, Trial#trial{idle = 0}};
        _ -> {settled, Trial}
    end.

kill_or_restart(Ms, #trial{restart = At} = Trial) when is_integer(At), Ms >= At ->
    #trial{options = Options, server = Server, dam = Dam, tally = Tally} = Trial,
    _ = start_server(Options, Server, Dam, Tally),
    Trial#trial{restart = none};
kill_or_restart(Ms, #trial{kills = [At | Rest], restart = none} = Trial) when Ms >= At ->
    #trial{options = #{restart_after_ms := Pause}, server = Server, killed = Killed} = Trial,
    ok = stop(Server),
    Trial#trial{kills = Rest, restart = Ms + Pause, killed = Killed + 1};
kill_or_restart(_, Trial) ->
    Trial.

%% @doc Messages in the mailbox of the process of that name.
-spec mailbox(atom()) -> non_neg_integer() | none.
mailbox(Name) ->
    case whereis(Name) of
        undefined ->
            none;
        Pid ->
            case process_info(Pid, message_queue_len) of
                {message_queue_len, N} -> N;
                undefined -> none
            end
    end.

count(none) -> 0;
count(N) -> N.

held(Dam) ->
    case tailback_dam:info(Dam) of
        {ok, #{queued := Queued, waiting := Waiting, in_flight := Flight}} ->
            Queued + Waiting + Flight;
        {error, no_dam} ->
            0
    end.

memory_limit(#{memory := Memory, server := Server, dam := Dam}, #{memory_limit_bytes := Most}) ->
    Line = tailback_dam_text:line(
        "memory: the VM holds ~b bytes, limit ~b, with ~b messages in the server's mailbox and ~b in "
        "the dam's; send fewer, or raise --memory-limit",
        [Memory, Most, Server, Dam]
    ),
    {memory_limit, Line}.

result(Outcome, #trial{options = Options, tally = Tally, start_ns = Start} = Trial) ->
    #trial{senders = Senders, waits = Waits, server = Server, dam = Dam, samples = Samples} = Trial,
    Now = erlang:monotonic_time(nanosecond),
    Counts = msgq_tally:read(Tally),
    Progress = msgq_senders:progress(Senders),
    Figures = dam_figures(Dam),
    WallUs = wall_us(Outcome, Start, msgq_tally:last_ns(Tally), Now),
    Handled = maps:get(handled, Counts),
    maps:merge(msgq_samples:result(Samples), #{
        outcome => Outcome,
        offered => maps:get(senders, Options) * maps:get(messages, Options),
        sent => maps:get(sent, Progress),
        refused => maps:get(refused, Progress),
        drained => Handled,
        failed => maps:get(failed, Counts),
        duplicated => maps:get(duplicated, Counts),
        out_of_order => maps:get(out_of_order, Counts),
        lost => lost(Outcome, maps:get(sent, Progress), Handled, Figures),
        killed => Trial#trial.killed,
        wall_us => WallUs,
        drain_rate => Handled * 1000000 / max(1, WallUs),
        wait_us => msgq_histogram:quantiles(Waits, [0.5, 0.9, 0.99, 0.999, 1.0]),
        wait_buckets_us => msgq_histogram:buckets(Waits),
        dam_info => Figures,
        errors => errors(Server, Outcome)
    }).

%% Measures up to the last message, not up to the sample that noticed it.
wall_us(timeout, Start, _, Now) -> (Now - Start) div 1000;
wall_us(_, Start, Last, _) when is_integer(Last), Last > Start -> (Last - Start) div 1000;
wall_us(_, Start, _, Now) -> (Now - Start) div 1000.

dam_figures(Dam) ->
    case tailback_dam:info(Dam) of
        {ok, Figures} -> Figures;
        {error, no_dam} -> #{}
    end.

%% While messages are still queued, the number of lost ones is unknown.
lost(timeout, _, _, _) -> unknown;
lost(_, Sent, Handled, Figures) -> max(0, Sent - Handled - maps:get(dropped_old, Figures, 0)).

%% A server that was still busy at the end cannot report soon, so the wait is short.
report_limit(timeout) -> 50;
report_limit(_) -> 1000.

errors(Server, Outcome) ->
    case msgq_server:report(Server, report_limit(Outcome)) of
        {ok, #{last := {_, Line}}} -> [Line];
        {ok, _} -> [];
        {error, timeout} -> [<<"log server: too busy to report">>];
        {error, no_server} -> [<<"log server: not running at the end">>]
    end.
