%% @doc Floods the mailbox of a server, and measures what a dam in front of it changes.
%%
%% A server that logs gets more messages than it can write. Each write to a port or a socket may go
%% through all messages that wait. So the longer the mailbox, the slower the server, and it may
%% never catch up. This module is such a server with such senders, with or without a dam.
%%
%% <h2>A first measurement</h2>
%% 100 senders send 100 messages each. Without a dam nearly all of them wait in the mailbox of the
%% server. With {@link tailback_dam} there are never more than 66:
%%
%% ```
%% 1> {ok, Flood} = msgq_flood:measure(#{}), maps:get(server_queue_high, Flood).
%% 9999
%% 2> {ok, Dam} = msgq_flood:measure(#{dam => credit}), maps:get(server_queue_high, Dam).
%% 66
%% '''
%%
%% What one write costs while 0, 10,000 and 100,000 messages wait:
%%
%% ```
%% 3> msgq_flood:cost(#{lengths => [0, 10000, 100000]}).
%% '''
%%
%% <h2>Which function to call</h2>
%% <ul>
%% <li>{@link measure/1}, {@link cost/1} and {@link rate/1} print nothing and return maps, for
%%     programs.</li>
%% <li>{@link compare/1} and {@link profile/1} also print a table.</li>
%% <li>{@link start_link/2}, {@link flood_direct/2}, {@link flood_to_dam/2} and {@link watch/1} are
%%     for a shell:
%%
%% ```
%% 4> {ok, _} = msgq_flood:start_link("a.log", #{sink => port, dam => credit}).
%% 5> msgq_flood:flood_to_dam(100, 10000).
%% 6> msgq_flood:watch(10).
%% 7> msgq_flood:stop(log_server).
%% '''
%%     </li>
%% </ul>
%%
%% Where the server writes to is the option `sink'; see {@link tailback_sink}. A file shows no
%% slow-down, since OTP 21; the sink `port' shows it on every release.
%%
%% While they run, server and dam are registered as `log_server' and `log_dam'. If the node has
%% processes of these names, the functions return `{error, {already_started, Line}}'.
-module(msgq_flood).

-export([start_link/1, start_link/2, log/1, log/2, stop/1, stop/2]).
-export([flood_direct/2, flood_to_dam/2, watch/0, watch/1]).
-export([measure/1, cost/1, rate/1, compare/1, profile/1]).

-export_type([fault/0]).

-type fault() :: {Kind :: atom(), Line :: binary()}.
%% A name to match on, and a line that says what failed, where, and what to do next.

-define(SERVER, log_server).
-define(DAM, log_dam).
-define(LIMIT_MS, 5000).

%% @doc Starts server and dam as the original does. The server appends to a file opened with `raw'
%% and `delayed_write', and the dam has a threshold.
-spec start_link(file:name_all()) -> {ok, pid()} | {error, fault()}.
start_link(File) -> start_link(File, #{}).

%% @doc Starts the server, registered as `log_server', and the dam, registered as `log_dam'. Both
%% are linked to the caller. Returns the pid of the server when both run.
%%
%% Options: `sink' (default: the file), `dam' (`threshold', the default, `credit' or `none'),
%% `dam_options', `message_queue_data', `fullsweep_after'; see {@link measure/1}.
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

%% @doc Logs one message. It goes to a server or a dam, given by name or pid.
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

%% @doc Writes the queued messages, then ends dam and server. Waits at most `Limit' milliseconds
%% for each. Both end in any case; an error says how many messages were not written.
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

%% The caller is linked to both processes. It must get no exit signal when it stops them itself.
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

%% @doc Starts `Senders' processes that each send `Messages' messages straight to the server, all
%% at once. Returns when they have begun.
-spec flood_direct(pos_integer(), pos_integer()) -> ok | {error, fault()}.
flood_direct(Senders, Messages) ->
    case msgq_options:flood(Senders, Messages) of
        ok -> flood(direct, ?SERVER, Senders, Messages);
        Fault -> Fault
    end.

%% @doc As {@link flood_direct/2}, but sends to the dam.
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

%% The senders end when the process that they flood ends.
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

%% @doc Prints once a second how many messages wait in the dam and in the server, forever. End it
%% with ctrl-c. For a credit dam the first number counts the messages in its table and its
%% mailbox.
-spec watch() -> ok.
watch() -> msgq_watch:run(?DAM, ?SERVER, infinity).

%% @doc As {@link watch/0}, but returns after `Lines' lines.
-spec watch(pos_integer()) -> ok | {error, fault()}.
watch(Lines) when is_integer(Lines), Lines > 0 -> msgq_watch:run(?DAM, ?SERVER, Lines);
watch(Lines) -> {error, {bad_option, line("lines: ~0tP; want a number above 0", [Lines, 12])}}.

%% @doc Runs one trial and returns its result. Prints nothing.
%%
%% Options:
%% <ul>
%% <li>`sink': where the server writes to (default `port'; see {@link tailback_sink}).</li>
%% <li>`dam': `none' (the default), `credit' ({@link tailback_dam}) or `threshold' (the dam of the
%%     original, which only pauses and has no bound). `dam_options': those of the dam (default
%%     `#{}').</li>
%% <li>`senders' (default 100), `messages' of each sender (100).</li>
%% <li>`message': `small' (the default), `byte', `refc' or `{large, Bytes}'.</li>
%% <li>`pace': `flood' (the default), or `one_at_a_time': without a dam, each sender waits until the
%%     server has handled its message.</li>
%% <li>`mailbox': `server' (the default), or `decoy': all senders send to a process that never
%%     looks at its messages, and the server gets as many messages from one process that keeps its
%%     queue nearly empty. `dam_queue' is then the queue of the decoy.</li>
%% <li>`message_queue_data' of the server (default `on_heap'), `fullsweep_after' (that of the
%%     node).</li>
%% <li>`sample_ms': milliseconds between two samples (default 20).</li>
%% <li>`timeout_ms': the trial ends after these milliseconds (default 30000).</li>
%% <li>`memory_limit_bytes': the trial fails with `memory_limit' when the whole VM holds more
%%     (default 2 GiB).</li>
%% <li>`kill_after_ms': a list of times at which the server is killed (default `[]').
%%     `restart_after_ms': how long it then stays away (default 10).</li>
%% </ul>
%%
%% The result:
%% <ul>
%% <li>`outcome': `drained' (all messages were handled), `settled' (nothing is left to handle, but
%%     not all messages came) or `timeout'.</li>
%% <li>Counts of messages: `offered', `sent', `refused' (by the dam), `drained' (different messages
%%     that the server handled, failed writes included), `failed' (writes), `duplicated',
%%     `out_of_order', `lost' (`unknown' after a timeout). `killed' counts kills.</li>
%% <li>`wall_us': from the release of the senders to the last message. `drain_rate': messages a
%%     second.</li>
%% <li>`wait_us': quantiles of the time to send one message. `wait_buckets_us': upper bounds and
%%     counts.</li>
%% <li>`server_queue', `dam_queue', `dam_held': lists of `{AtUs, Length}'. With `_high' at the end
%%     of the name: their highest values. `both_queues_high': that of the sum of both
%%     mailboxes.</li>
%% <li>`memory_bytes': the highest value. `dam_info': of a credit dam, see
%%     {@link tailback_dam:info/1}. `errors': lines.</li>
%% </ul>
-spec measure(map()) -> {ok, map()} | {error, fault()}.
measure(Given) ->
    guarded(msgq_options:measure(Given), fun(Options) ->
        msgq_trial:run(Options, ?SERVER, ?DAM)
    end).

%% @doc Measures what one write costs at each queue length. Prints nothing.
%%
%% Each length is measured in a new process, with newly queued messages. Options:
%% <ul>
%% <li>`sink' (default `port'), `message', `message_queue_data', `fullsweep_after',
%%     `memory_limit_bytes': as in {@link measure/1}.</li>
%% <li>`lengths': a list (default: six from 0 to 200000).</li>
%% <li>`ops': timed writes at each length (default 30).</li>
%% <li>`seed': of the order of the lengths (default 1).</li>
%% <li>`mailbox': `server' (the default), or `decoy': the messages wait for another process.</li>
%% <li>`sample_for_ms': how long the process is sampled after the timing (default 100; 0: not at
%%     all). `look_at': `all' (the default), or `longest': samples at the longest length only.</li>
%% </ul>
%%
%% The result:
%% <ul>
%% <li>`costs': a list of `{Length, [Us]}' with the times in the order of the writes.</li>
%% <li>`functions': a list of `{Length, [{Mfa, Samples}]}' with the most sampled function
%%     first.</li>
%% <li>`order' of the lengths, `seed', `sink'.</li>
%% </ul>
-spec cost(map()) -> {ok, map()} | {error, fault()}.
cost(Given) ->
    case msgq_options:cost(Given) of
        {ok, Options} -> msgq_cost:run(Options);
        Fault -> Fault
    end.

%% @doc Measures the rate of a sink with nothing queued, as a reference.
%%
%% Options: `sink' (default `port'), `message' (`small'), `writes' (10000). The result: `wall_us',
%% `rate' (writes a second).
-spec rate(map()) -> {ok, map()} | {error, fault()}.
rate(Given) ->
    case msgq_options:rate(Given) of
        {ok, Options} -> msgq_guarded:run(fun() -> msgq_cost:rate(Options) end);
        Fault -> Fault
    end.

%% @doc Floods the same server through each dam, and compares both runs with a nearly empty queue.
%% Prints one line for each and returns the results.
%%
%% The reference is one process that sends lumps of 16 messages, with at most two lumps
%% unanswered. It uses the same server, sink and count of arrivals, without a competing sender. It
%% runs before, between and after the dams, and its runs are combined.
%%
%% With its defaults it takes some minutes. Options:
%% <ul>
%% <li>`sink', `senders', `message', `memory_limit_bytes': as in {@link measure/1}; `messages' of
%%     each sender (default 10000).</li>
%% <li>`dam_options' and `timeout_ms' (default 300000) of the credit dam.</li>
%% <li>`original_for_ms': time limit of the dam of the original (default 60000).</li>
%% <li>`reference': writes in each reference run (default 100000).</li>
%% <li>`print': whether to print (default true).</li>
%% </ul>
%%
%% The result: `reference', `threshold' and `credit', each with `rate' (messages a second),
%% `of_reference' (share of the reference rate), `sent', `drained', `lost', `duplicated',
%% `out_of_order', `outcome', and the highest lengths `server_queue_high', `dam_queue_high' and
%% `both_queues_high' of the mailboxes.
-spec compare(map()) -> {ok, #{reference | threshold | credit := map()}} | {error, fault()}.
compare(Given) ->
    guarded(msgq_options:compare(Given), fun(Options) ->
        msgq_compare:run(Options, ?SERVER, ?DAM)
    end).

%% @doc Profiles a flooded server. Prints the table as the original does, with the most expensive
%% function last, and returns it.
%%
%% It needs the application tools of OTP. Options: `sink' (default `port'), `message', `queued'
%% messages (50000), `for_ms' (2000), `tool' (`auto': tprof if installed, else eprof), `print'
%% (true).
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
