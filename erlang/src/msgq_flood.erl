%% @doc A mailbox that is flooded, and what a dam in front of it does.
%%
%% As in the original: `start_link("a.log")', `flood_direct(100, 10000)' or
%% `flood_to_dam(100, 10000)', then `watch()'. On today's OTP a file no longer shows the collapse; a
%% sink that waits for an answer by a selective receive does:
%% `start_link("a.log", #{sink => port})'. See {@link tailback_sink}.
%%
%% `measure/1', `cost/1' and `rate/1' are the quiet forms: they print nothing and return maps.
-module(msgq_flood).

-export([start_link/1, start_link/2, log/1, log/2, stop/1, stop/2]).
-export([flood_direct/2, flood_to_dam/2, watch/0, watch/1]).
-export([measure/1, cost/1, rate/1, compare/1, profile/1]).

-export_type([fault/0]).

-type fault() :: {atom(), binary()}.
%% A name to match on, and a line with what, where, and what to do next.

-define(SERVER, log_server).
-define(DAM, log_dam).
-define(LIMIT_MS, 5000).

%% @doc Starts server and dam as the original does: appending to a file opened raw with
%% delayed_write, behind a dam with a threshold.
-spec start_link(file:name_all()) -> {ok, pid()} | {error, fault()}.
start_link(File) -> start_link(File, #{}).

%% @doc Starts the server, registered as `log_server', and the dam, registered as `log_dam', both
%% linked to the caller, and answers with the server's pid when both are there.
%%
%% Options: `sink' (default the file), `dam' (`threshold', `credit' or `none'), `dam_options',
%% `message_queue_data', `fullsweep_after'.
-spec start_link(file:name_all(), map()) -> {ok, pid()} | {error, fault()}.
start_link(File, Given) ->
    Sink = {file, File, [append, raw, delayed_write]},
    case is_map(Given) andalso msgq_options:server(maps:merge(#{sink => Sink}, Given)) of
        false -> {error, {bad_option, <<"options: want a map">>}};
        {ok, Options} -> start_both(Options);
        Fault -> Fault
    end.

start_both(#{dam := Kind, dam_options := DamOptions} = Options) ->
    case free() of
        ok ->
            case msgq_trial:start_dam(Kind, ?DAM, ?SERVER, DamOptions) of
                ok -> start_server(Kind, Options);
                Fault -> Fault
            end;
        Fault ->
            Fault
    end.

start_server(Kind, Options) ->
    Chosen = maps:with([sink, message_queue_data, fullsweep_after], Options),
    case msgq_server:start_link(?SERVER, Chosen#{dam => ?DAM}) of
        {ok, Pid} ->
            _ = [tailback_dam:connect(?DAM) || Kind =:= credit],
            {ok, Pid};
        {error, {Name, Line}} when is_binary(Line) ->
            ok = stop_process(?DAM, 0),
            {error, {Name, Line}};
        {error, Why} ->
            ok = stop_process(?DAM, 0),
            {error, {not_started, line("log server: cannot be started: ~0tP", [Why, 12])}}
    end.

free() ->
    case [Name || Name <- [?SERVER, ?DAM], whereis(Name) =/= undefined] of
        [] ->
            ok;
        [Name | _] ->
            {error, {already_started, line("~s: runs already; stop it by msgq_flood:stop/1", [Name])}}
    end.

%% @equiv log(log_server, Text)
-spec log(iodata()) -> ok | {error, fault()}.
log(Text) -> log(?SERVER, Text).

%% @doc Logs one message, sent to a server or to a dam, by name or pid.
-spec log(atom() | pid(), iodata()) -> ok | {error, fault()}.
log(To, Text) ->
    Message = {log, none, Text},
    case {way(To), is_process(To)} of
        {_, false} ->
            {error, {no_server, line("~0tp: no such process; start it first", [To])}};
        {credit, true} ->
            case tailback_dam:cast(To, Message) of
                ok -> ok;
                {error, Why} -> {error, {Why, tailback_dam:explain(Why)}}
            end;
        {_, true} ->
            gen_server:cast(To, Message)
    end.

is_process(Pid) when is_pid(Pid) -> node(Pid) =/= node() orelse is_process_alive(Pid);
is_process(Name) -> is_atom(Name) andalso whereis(Name) =/= undefined.

-spec way(atom() | pid()) -> msgq_senders:way().
way(?SERVER) ->
    direct;
way(Name) when is_atom(Name) ->
    case tailback_dam:handle(Name) of
        {ok, _} -> credit;
        {error, no_dam} -> threshold
    end;
way(_) ->
    direct.

%% @equiv stop(Server, 5000)
-spec stop(atom() | pid()) -> ok | {error, fault()}.
stop(Server) -> stop(Server, ?LIMIT_MS).

%% @doc Writes what is queued, at most for `Limit' milliseconds each for dam and server, and ends
%% both. They are ended in any case; an error gives how much was not written.
-spec stop(atom() | pid(), non_neg_integer()) -> ok | {error, fault()}.
stop(Server, Limit) ->
    case is_process(Server) of
        false ->
            {error, {no_server, line("~0tp: no such process; nothing to stop", [Server])}};
        true ->
            Left = stop_dam(Limit) + flush_server(Server, Limit),
            ok = stop_process(Server, Limit),
            stopped(Left)
    end.

stopped(0) ->
    ok;
stopped(Left) ->
    Format = "log server: ~b messages were not written in time; give stop/2 a longer limit",
    {error, {timeout, line(Format, [Left])}}.

stop_dam(Limit) ->
    case {whereis(?DAM), way(?DAM)} of
        {undefined, _} ->
            0;
        {_, credit} ->
            Left =
                case tailback_dam:stop(?DAM, Limit) of
                    {ok, #{undelivered := N}} -> N;
                    {error, _} -> 0
                end,
            ok = stop_process(?DAM, 0),
            Left;
        {_, _} ->
            _ = tailback_dam_threshold:sync(?DAM, Limit),
            Left = queued(?DAM),
            ok = stop_process(?DAM, 0),
            Left
    end.

flush_server(Server, Limit) ->
    case msgq_server:sync(Server, Limit) of
        ok -> 0;
        {error, _} -> queued(Server)
    end.

queued(Process) ->
    case process_info(pid(Process), message_queue_len) of
        {message_queue_len, N} -> N;
        undefined -> 0
    end.

pid(Pid) when is_pid(Pid) -> Pid;
pid(Name) ->
    case whereis(Name) of
        undefined -> spawn(fun() -> ok end);
        Pid -> Pid
    end.

%% The caller is linked to them, and must get no exit signal of an end that it asked for.
stop_process(Process, Limit) ->
    Pid = pid(Process),
    true = unlink(Pid),
    Monitor = monitor(process, Pid),
    try
        gen_server:stop(Pid, normal, max(100, Limit))
    catch
        exit:_ ->
            true = exit(Pid, kill),
            ok
    end,
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

%% @doc Has so many processes send so many messages each, at once and straight to the server.
%% Answers when they have begun.
-spec flood_direct(pos_integer(), pos_integer()) -> ok | {error, fault()}.
flood_direct(Senders, Messages) ->
    case msgq_options:flood(Senders, Messages) of
        ok -> flood(direct, ?SERVER, Senders, Messages);
        Fault -> Fault
    end.

%% @doc The same, sent to the dam.
-spec flood_to_dam(pos_integer(), pos_integer()) -> ok | {error, fault()}.
flood_to_dam(Senders, Messages) ->
    case msgq_options:flood(Senders, Messages) of
        ok -> flood(way(?DAM), ?DAM, Senders, Messages);
        Fault -> Fault
    end.

flood(Way, To, Senders, Messages) ->
    case whereis(To) of
        undefined ->
            {error, {no_server, line("~s: does not run; call msgq_flood:start_link first", [To])}};
        Pid ->
            _ = spawn(fun() -> flood_while(Pid, Way, To, Senders, Messages) end),
            ok
    end.

%% The senders end with whom they flood.
flood_while(Pid, Way, To, Senders, Messages) ->
    Monitor = monitor(process, Pid),
    Flood = msgq_senders:start(#{
        senders => Senders,
        messages => Messages,
        message => small,
        way => Way,
        to => To,
        waits => none
    }),
    ok = msgq_senders:release(Flood),
    wait_for_senders(Monitor, Flood, Senders).

wait_for_senders(Monitor, Flood, Senders) ->
    receive
        {'DOWN', Monitor, process, _, _} -> msgq_senders:stop(Flood)
    after 100 ->
        case msgq_senders:progress(Flood) of
            #{finished := Senders} -> msgq_senders:stop(Flood);
            _ -> wait_for_senders(Monitor, Flood, Senders)
        end
    end.

%% @doc Prints once a second how many messages wait in the dam and in the server, for ever: end it
%% with ctrl-c. For a credit dam the first number is what waits in its table and in its mailbox.
-spec watch() -> ok.
watch() -> msgq_watch:run(?DAM, ?SERVER, infinity).

%% @doc Prints so many lines.
-spec watch(pos_integer()) -> ok | {error, fault()}.
watch(Lines) when is_integer(Lines), Lines > 0 -> msgq_watch:run(?DAM, ?SERVER, Lines);
watch(Lines) -> {error, {bad_option, line("lines: ~0tP; want a number above 0", [Lines, 12])}}.

%% @doc Runs one trial and answers its result. Prints nothing.
%%
%% Options, with their defaults: `sink' (port), `dam' (none; threshold, credit), `dam_options'
%% (#{}), `senders' (100), `messages' each (100), `message' (small; byte, refc, {large, Bytes}),
%% `pace' (flood; one_at_a_time: without a dam, each sender waits until its message was handled),
%% `mailbox' (server; decoy: all is sent to a process that never looks at it, and the server gets as
%% many messages from one process that keeps its queue nearly empty; `dam_queue' is the decoy's
%% then), `message_queue_data' (on_heap), `fullsweep_after', `sample_ms' (20), `timeout_ms' (30000),
%% `memory_limit_bytes' of the whole VM (2 GiB), `kill_after_ms' ([]: times at which the server is
%% killed), `restart_after_ms' (10).
%%
%% The result: `outcome' (`drained': all were handled; `settled': nothing is left to handle, yet not
%% all came; `timeout'), `offered', `sent', `refused' (by the dam), `drained' (different messages
%% that came to the far end), `failed' (writes), `duplicated', `out_of_order', `lost' (`unknown'
%% after a timeout), `killed', `wall_us' (release of the senders to the last message), `drain_rate'
%% a second, `wait_us' (quantiles of the time that sending one message took) and `wait_buckets_us'
%% (upper bound and count), `server_queue', `dam_queue', `dam_held' as lists of `{AtUs, Length}',
%% their `_high' marks and `both_queues_high' (mailboxes), `memory_bytes' (highest), `dam_info' (of
%% a credit dam, see {@link tailback_dam:info/1}), `errors' (lines).
-spec measure(map()) -> {ok, map()} | {error, fault()}.
measure(Given) ->
    guarded(msgq_options:measure(Given), fun(Options) ->
        msgq_trial:run(Options, ?SERVER, ?DAM)
    end).

%% @doc What one write costs while so many messages are queued. Prints nothing.
%%
%% Options: `sink' (port), `lengths' (0 to 200000), `ops' timed at each (30), `seed' of the order of
%% the lengths (1), `message', `message_queue_data', `fullsweep_after', `memory_limit_bytes',
%% `mailbox' (server; decoy: the messages wait for another process), `sample_for_ms' (100: how long
%% to look afterwards at what the process does; 0 for not at all), `look_at' (all; longest: for that
%% length alone). Each length has a process of its own, filled afresh.
%%
%% The result: `costs', a list of `{Length, [Us]}' in the order in which they were timed,
%% `functions', a list of `{Length, [{Mfa, Samples}]}', most seen first, `order', `seed', `sink'.
-spec cost(map()) -> {ok, map()} | {error, fault()}.
cost(Given) ->
    case msgq_options:cost(Given) of
        {ok, Options} -> msgq_cost:run(Options);
        Fault -> Fault
    end.

%% @doc The rate of a sink with nothing queued, to compare with. Options: `sink', `message',
%% `writes'. The result: `wall_us', `rate' a second.
-spec rate(map()) -> {ok, map()} | {error, fault()}.
rate(Given) ->
    case msgq_options:rate(Given) of
        {ok, Options} -> msgq_guarded:run(fun() -> msgq_cost:rate(Options) end);
        Fault -> Fault
    end.

%% @doc Floods the same server through each dam, beside what it does with a queue kept nearly empty;
%% prints a line each and returns them.
%%
%% The reference is one process that sends lumps of 16 messages and lets no more than two of them be
%% unanswered: the same server, sink and count at the far end, and nobody who competes. It is run
%% before, between and after the dams, and its writes are taken together.
%%
%% Options: `sink' (port), `senders' (100), `messages' each (10000), `message' (small),
%% `dam_options' of the credit dam, `reference' (writes of each run of the reference: 100000),
%% `original_for_ms' (60000: the original's dam is cut off after that), `timeout_ms' of the credit
%% dam (300000), `memory_limit_bytes' (2 GiB), `print' (true).
%%
%% The result: `reference', `threshold' and `credit', each with `rate' a second, `of_reference',
%% `sent', `drained', `lost', `duplicated', `out_of_order', `outcome', and the high-water marks
%% `server_queue_high', `dam_queue_high' and `both_queues_high' of the mailboxes.
-spec compare(map()) -> {ok, #{reference | threshold | credit := map()}} | {error, fault()}.
compare(Given) ->
    guarded(msgq_options:compare(Given), fun(Options) ->
        msgq_compare:run(Options, ?SERVER, ?DAM)
    end).

%% @doc Profiles a flooded server, prints the table as the original does, dearest last, and returns
%% it. Options: `sink' (port), `message', `queued' (50000), `for_ms' (2000), `tool' (auto: tprof
%% where there is one, else eprof), `print' (true).
-spec profile(map()) -> {ok, map()} | {error, fault()}.
profile(Given) ->
    guarded(msgq_options:profile(Given), fun(Options) -> msgq_profile:run(Options, ?SERVER) end).

guarded({error, Fault}, _) ->
    {error, Fault};
guarded({ok, Options}, Fun) ->
    case free() of
        ok -> msgq_guarded:run(fun() -> Fun(Options) end);
        Fault -> Fault
    end.

line(Format, Args) -> tailback_dam_text:line(Format, Args).
