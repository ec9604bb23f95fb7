#!/usr/bin/env escript
%%! +Bd
%% SPDX-License-Identifier: Apache-2.0
%% mailbox-flood: an Erlang process becomes slower the more messages wait for it, and never catches
%% up.
%%
%% Each message in the mailbox makes every write to the sink port slower here, by 8.66 ns [6.99,
%% 17.6] in a flood, and by 4.94 ns [4.67, 5.05] where only the length differs; with 100,000
%% messages queued, a write takes 0.904 ms [0.738, 1.8] instead of 0.039 ms. In the flood the
%% server wrote 1106/s [557, 1361], and 27418/s [17686, 46874] with the flood sent to another
%% process.
%% Measured 2026-11-27T01:21:47Z on Linux 6.18.44-fc-v657, HZ 250, preemption none, 2 CPUs,
%% virtual, OTP 25 (erts 13.1.5), arm direct: tailback run mailbox-flood --quick --no-fixes
%% --no-probe --seed 2079844478505184
%%
%% Run: escript stall.escript
%% Exit codes and output are as in kselftest. 0: no stall, or in less than 30% of blocks. 1: a
%% stall in more than half. 4: skipped or undecided. 128: the test itself broke.
%% Written by tailback 0.1.0 from that record.
-module(stall).
-export([main/1]).
-mode(compile).
-define(NAME, "mailbox-flood").
-define(UNIT, "ns").
-define(MARGIN, 0.5).
-define(LOOKS, [{14, 0, 12}, {28, 2, 21}, {42, 5, 29}, {56, 8, 37}]).
-define(SEED, 2079844478505185).
-define(OTP, "25").
-define(CONTROL_FLAGS, []).
-define(CASE_FLAGS, []).
-define(SINK, port).
-define(SENDERS, 100).
-define(MESSAGES, 1000).
-define(BYTES, 20).
-define(WRITES, 300).
-define(MESSAGE_QUEUE_DATA, on_heap).
-define(DURATION_MS, 150).
-define(MEMORY_LIMIT, 536870912).
-define(TRIAL_MS, 150).

%% ?SENDERS processes send ?MESSAGES messages each, all at once. A server writes each message to a
%% sink and waits for an answer. In the control, they send to a process that never looks at its
%% mailbox, and the server gets as many messages in small batches. A trial finds how much longer a
%% write takes than with an empty mailbox. This is divided by the number of waiting messages, in
%% nanoseconds.

set_up(_, _) -> [].

trial(Arm, _) ->
    Empty = empty_ns(),
    {Ns, Written} = flood(Arm),
    %% Each write leaves one message less, so this is the mean over all writes.
    Waiting = ?SENDERS * ?MESSAGES - max(0, Written - 1) / 2,
    (Ns / max(1, Written) - Empty) / max(1, Waiting).

%% The time of a write in a plain loop, in nanoseconds.
empty_ns() ->
    Self = self(),
    _ = spawn_link(fun() ->
        {Sink, Payload} = {open(?SINK), payload()},
        Start = erlang:monotonic_time(nanosecond),
        lists:foreach(fun(_) -> ok = write(Sink, Payload) end, lists:seq(1, ?WRITES)),
        Self ! {empty, (erlang:monotonic_time(nanosecond) - Start) / ?WRITES}
    end),
    receive
        {empty, Ns} -> Ns
    end.

%% The duration of the flood and the number of written messages.
flood(Arm) ->
    %% So the senders start together, and the progress of the server is checked in time.
    _ = process_flag(priority, high),
    Board = atomics:new(2, []),
    Self = self(),
    Keep = [link, {message_queue_data, ?MESSAGE_QUEUE_DATA}],
    Server = spawn_opt(fun() -> serve_first(Self, Board) end, Keep),
    receive
        {ready, Server} -> ok
    end,
    Target = target(Arm, Server, Keep),
    Send = fun() -> receive go -> send(Target, ?MESSAGES) end end,
    Senders = [spawn_link(Send) || _ <- lists:seq(1, ?SENDERS)],
    Start = erlang:monotonic_time(nanosecond),
    _ = [Sender ! go || Sender <- Senders],
    _ = [spawn_link(fun() -> feed(Server, ?SENDERS * ?MESSAGES, none) end) || Arm =:= control],
    watch(Start, Board).

target(cause, Server, _) ->
    Server;
target(control, _, Keep) ->
    Decoy = spawn_opt(fun() -> timer:sleep(infinity) end, Keep),
    true = erlang:suspend_process(Decoy),
    Decoy.

watch(Start, Board) ->
    Past = erlang:monotonic_time(nanosecond) - Start,
    Memory = erlang:memory(total),
    case atomics:get(Board, 1) of
        Written when Written =:= ?SENDERS * ?MESSAGES -> {atomics:get(Board, 2) - Start, Written};
        Written when Past >= ?DURATION_MS * 1000000 -> {Past, Written};
        _ when Memory > ?MEMORY_LIMIT -> broken("the node holds ~b bytes", [Memory]);
        _ -> timer:sleep(10), watch(Start, Board)
    end.

serve_first(Starter, Board) ->
    Sink = open(?SINK),
    Starter ! {ready, self()},
    serve(Sink, Board).

serve(Sink, Board) ->
    receive
        {log, Data} ->
            ok = write(Sink, Data),
            ok = atomics:put(Board, 2, erlang:monotonic_time(nanosecond)),
            ok = atomics:add(Board, 1, 1);
        {ask, From, Asked} ->
            From ! {Asked, written}
    end,
    serve(Sink, Board).

send(_, 0) ->
    ok;
send(Target, Left) ->
    Target ! {log, payload()},
    send(Target, Left - 1).

%% Each batch is sent while the previous one is written, so almost nothing waits.
feed(_, Left, _) when Left =< 0 ->
    ok;
feed(Server, Left, Before) ->
    lists:foreach(fun(_) -> Server ! {log, payload()} end, lists:seq(1, min(16, Left))),
    Asked = make_ref(),
    Server ! {ask, self(), Asked},
    ok = written(Before),
    feed(Server, Left - 16, Asked).

written(none) ->
    ok;
written(Asked) ->
    receive
        {Asked, written} -> ok
    end.

payload() -> binary:copy(<<"l">>, ?BYTES).

open(port) ->
    Cat = {spawn_executable, "/bin/cat"},
    {port, open_port(Cat, [{packet, 4}, binary, use_stdio])};
open(tag) ->
    {tag, spawn_link(fun answer_by_tag/0)};
open(gen_server) ->
    {call, spawn_link(fun answer_by_reference/0)};
open(tcp) ->
    Options = [{inet_backend, inet}, binary, {active, false}],
    {ok, Listener} = gen_tcp:listen(0, Options ++ [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, Options ++ [{nodelay, true}]),
    {ok, Peer} = gen_tcp:accept(Listener),
    ok = gen_tcp:controlling_process(Peer, spawn_link(fun() -> drain(gen_tcp, Peer) end)),
    {tcp, Socket};
open(udp) ->
    {ok, Peer} = gen_udp:open(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Peer),
    ok = gen_udp:controlling_process(Peer, spawn_link(fun() -> drain(gen_udp, Peer) end)),
    {ok, Socket} = gen_udp:open(0, [binary, {active, false}]),
    {udp, Socket, Port}.

%% If it waits for an answer without a reference of its own, it scans all earlier messages.
write({port, Port}, Data) ->
    true = port_command(Port, Data),
    receive
        {Port, {data, _}} -> ok
    end;
write({tag, Peer}, Data) ->
    Peer ! {write, self(), Data},
    receive
        {written, ok} -> ok
    end;
write({call, Peer}, Data) ->
    Asked = monitor(process, Peer),
    Peer ! {write, self(), Asked, Data},
    receive
        {Asked, ok} -> demonitor(Asked, [flush]), ok
    end;
write({tcp, Socket}, Data) ->
    gen_tcp:send(Socket, Data);
write({udp, Socket, Port}, Data) ->
    gen_udp:send(Socket, {127, 0, 0, 1}, Port, Data).

answer_by_tag() ->
    receive
        {write, From, _} -> From ! {written, ok}
    end,
    answer_by_tag().

answer_by_reference() ->
    receive
        {write, From, Asked, _} -> From ! {Asked, ok}
    end,
    answer_by_reference().

drain(Kind, Peer) ->
    _ = Kind:recv(Peer, 0),
    drain(Kind, Peer).

%% The study: both arms in random blocks, each trial in a node of its own.

main([]) ->
    ok = os:set_signal(sigterm, default),
    ok = os:set_signal(sigquit, default),
    io:put_chars("KTAP version 1/n1..1/n"),
    Otp = erlang:system_info(otp_release),
    io:format("# OTP ~ts; the record is of OTP ~ts~n", [Otp, ?OTP]),
    _ = rand:seed(exsss, ?SEED),
    halt(
        try study() of
            Code -> Code
        catch
            throw:{missing, Why} -> said(4, "ok 1 ~ts # SKIP ~ts~n", [?NAME, Why]);
            throw:{broken, Why} -> said(128, "not ok 1 ~ts # ERROR ~ts~n", [?NAME, Why]);
            _:Why -> said(128, "not ok 1 ~ts # ERROR ~0tP~n", [?NAME, Why, 20])
        end
    );
main(["trial", Arm, Block]) ->
    %% It ends with the study, however that ends.
    _ = spawn(fun() -> _ = io:get_line(""), halt(1) end),
    try trial(list_to_existing_atom(Arm), list_to_integer(Block)) of
        Found -> halt(said(0, "found ~w~n", [float(Found)]))
    catch
        throw:{Kind, Why} -> halt(said(1, "~w ~ts~n", [Kind, Why]));
        _:Why -> halt(said(1, "broken ~0tP~n", [Why, 20]))
    end;
main(_) ->
    halt(said(2, "usage: escript ~ts~n", [escript:script_name()])).

said(Code, Format, Values) ->
    io:format(Format, Values),
    Code.

study() ->
    {Keeper, Folder} = keeper(),
    try
        ok = compile(Folder),
        block(1, 0, 0.0, 0.0, {Keeper, Folder, set_up(Keeper, Folder)})
    after
        _ = catch port_close(Keeper),
        ok = gone(Folder, 150)
    end.

%% A block, and those after it, until one of two answers is clear: each is wrong in at most 5% of
%% runs, over all looks together.
block(Block, WorseBefore, ControlsBefore, CausesBefore, Place) ->
    %% In random order, so that what changes with time meets both.
    First = lists:nth(rand:uniform(2), [control, cause]),
    Found = [{Arm, run(Arm, Block, Place)} || Arm <- [First | [control, cause] -- [First]]],
    {_, Control} = lists:keyfind(control, 1, Found),
    {_, Cause} = lists:keyfind(cause, 1, Found),
    Worse = WorseBefore + length([worse || Cause - Control > ?MARGIN]),
    {Controls, Causes} = {ControlsBefore + Control, CausesBefore + Cause},
    Words = "# block ~b: control ~.3f ~ts, case ~.3f ~ts; ~b worse by more than ~w ~ts~n",
    io:format(Words, [Block, Control, ?UNIT, Cause, ?UNIT, Worse, ?MARGIN, ?UNIT]),
    case answer(Block, Worse) of
        open ->
            block(Block + 1, Worse, Controls, Causes, Place);
        Answer ->
            Means = [Controls / Block, ?UNIT, Causes / Block, ?UNIT],
            io:format("# on average: control ~.3f ~ts, case ~.3f ~ts~n", Means),
            told(Answer, Block, Worse)
    end.

%% After so many blocks: no stall where at most so many were worse, and a stall where at least so
%% many were.
answer(Block, Worse) ->
    case {lists:keyfind(Block, 1, ?LOOKS), lists:last(?LOOKS)} of
        {{_, _, Stall}, _} when Worse >= Stall -> stall;
        {{_, None, _}, _} when Worse =< None -> none;
        {Last, Last} -> undecided;
        _ -> open
    end.

told(stall, _, _) ->
    said(1, "not ok 1 ~ts~n", [?NAME]);
told(none, _, _) ->
    said(0, "ok 1 ~ts~n", [?NAME]);
told(undecided, Blocks, Worse) ->
    Words =
        "ok 1 ~ts # SKIP undecided: ~b of ~b blocks were worse, which shows neither more than half "
        "nor less than 30%~n",
    said(4, Words, [?NAME, Worse, Blocks]).

%% What a trial found in a node of its own, which joins the groups before it starts.
run(Arm, Block, {Keeper, Folder, Groups}) ->
    Join = [
        ["cd '", Group, "' && { [ -e cpu.max ] || [ -e cpu.cfs_quota_us ]; } && "]
        ++ "echo $$ >cgroup.procs || exit 97; cd /; "
     || Group <- Groups
    ],
    %% The program of this very OTP, which finds its files by the environment of this VM.
    Erl = filename:join(os:getenv("BINDIR"), "erlexec"),
    Boot = ["-boot", "no_dot_erlang", "-noshell", "+Bd", "-pa", Folder],
    Trial = ["-run", "stall", "main", "trial", atom_to_list(Arm), integer_to_list(Block)],
    Words = [Erl] ++ flags(Arm) ++ Boot ++ Trial,
    %% What is said to every emulator would be said to both arms.
    Names = [hd(string:split(Variable, "=")) || "ERL_" ++ _ = Variable <- os:getenv()],
    Unset = [{Name, false} || Name <- lists:delete("ERL_CRASH_DUMP_SECONDS", Names)],
    Port = open_port({spawn_executable, "/bin/sh"}, [
        {args, ["-c", lists:flatten([Join, "exec /"$@/""]), "sh" | Words]},
        {env, [{"ERL_CRASH_DUMP_SECONDS", "0"} | Unset]},
        {line, 1000},
        exit_status,
        stderr_to_stdout
    ]),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    "" = ask(Keeper, "node", integer_to_list(Pid)),
    found(Port, "nothing", Keeper).

flags(control) -> ?CONTROL_FLAGS;
flags(cause) -> ?CASE_FLAGS.

found(Port, Said, Keeper) ->
    receive
        {Port, {data, {_, "found " ++ Number}}} -> found(Port, list_to_float(Number), Keeper);
        {Port, {data, {_, "missing " ++ Why}}} -> throw({missing, Why});
        {Port, {data, {_, "broken " ++ Why}}} -> throw({broken, Why});
        {Port, {data, {_, Line}}} when Said =:= "nothing" -> found(Port, Line, Keeper);
        {Port, {data, _}} -> found(Port, Said, Keeper);
        {Port, {exit_status, 0}} when is_float(Said) -> Said;
        {Port, {exit_status, 97}} -> throw({missing, "no node could join a group with a quota"});
        {Port, {exit_status, Code}} -> broken("a trial ended with ~b and said: ~0tp", [Code, Said])
    after ?TRIAL_MS + 120000 ->
        true = port_close(Port),
        "" = ask(Keeper, "kill", "node"),
        broken("a trial hangs", [])
    end.

broken(Format, Values) -> throw({broken, io_lib:format(Format, Values)}).

%% This file, compiled for the nodes of the trials.
compile(Folder) ->
    {ok, Sections} = escript:extract(escript:script_name(), [compile_source]),
    {source, Beam} = lists:keyfind(source, 1, Sections),
    file:write_file(filename:join(Folder, "stall.beam"), Beam).

%% A shell that makes a folder, and groups when it is asked to, and removes what it made when this
%% study has ended, even if that was killed.
keeper() ->
    Script =
        "trap '' HUP INT TERM/n"
        "folder=$(mktemp -d /"${TMPDIR:-/tmp}/stall-XXXXXX/" 2>&1) ||/n"
        "  { echo /"no $folder/"; exit; }/n"
        "kill_node() {/n"
        "  tr '//0' ' ' </proc//"$node/"/cmdline | grep -qF /"$folder/" && kill -9 /"$node/"/n"
        "}/n"
        "echo /"yes $folder/"/n"
        "while read -r what path; do case $what in/n"
        "group) why=$(mkdir /"$path/" 2>&1) && group=$path && echo yes || echo /"no $why/" ;;/n"
        "node) node=$path; echo yes ;;/n"
        "kill) kill_node 2>/dev/null; echo yes ;;/n"
        "switch) (echo +cpu >/"$path/") 2>/dev/null && switch=$path; echo yes ;;/n"
        "esac; done/n"
        "kill_node 2>/dev/null/n"
        "tries=0/n"
        "while [ -d /"$folder/" ] && [ $tries -lt 100 ]; do/n"
        "  if [ -n /"$group/" ] && [ -d /"$group/" ]; then/n"
        "    while read -r pid; do kill -9 /"$pid/"; done </"$group/cgroup.procs/"/n"
        "    rmdir /"$group/"/n"
        "  else/n"
        "    rm -f /"$folder/"/stall.beam /"$folder/"/stall.c /"$folder/"/stall.so/n"
        "    rmdir /"$folder/"/n"
        "  fi || sleep 0.1/n"
        "  tries=$((tries + 1))/n"
        "done 2>/dev/null/n"
        "[ -z /"$switch/" ] || echo -cpu >/"$switch/"/n",
    Options = [{args, ["-c", Script]}, {line, 1000}],
    Keeper = open_port({spawn_executable, "/bin/sh"}, Options),
    {Keeper, answer_of(Keeper)}.

ask(Keeper, What, Path) ->
    true = port_command(Keeper, [What, " ", Path, "/n"]),
    answer_of(Keeper).

%% What the keeper says to what it was asked.
answer_of(Keeper) ->
    receive
        {Keeper, {data, {_, "yes" ++ Said}}} -> string:trim(Said);
        {Keeper, {data, {_, "no " ++ Why}}} -> throw({missing, Why})
    after 10000 -> broken("the shell that cleans up says nothing", [])
    end.

gone(Folder, Tries) ->
    case filelib:is_dir(Folder) of
        true when Tries > 0 -> timer:sleep(100), gone(Folder, Tries - 1);
        true -> io:format("# left: ~ts~n", [Folder]);
        false -> ok
    end.
