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
