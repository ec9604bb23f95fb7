%% @private
%% @doc The other end of the sinks that need one. Each is a process linked to the owner of the
%% sink.
-module(tailback_sink_peer).

-behaviour(gen_server).

-export([tcp/1, udp/0, server/0, tag/0, client/2, stop/1]).
-export_type([address/0]).
-export([init/1, handle_call/3, handle_cast/2]).

%% Address and port of a socket.
-type address() :: {inet:ip_address(), inet:port_number()}.

%% @doc A listener on the loopback address that reads and discards what its only client sends.
%% {@link client/2} names this client; any other client is turned away.
-spec tcp(inet | socket) -> {ok, pid(), inet:port_number()} | {error, term()}.
tcp(Backend) ->
    start(fun() ->
        Options = [{inet_backend, Backend}, binary, {active, false}, {ip, {127, 0, 0, 1}}],
        case gen_tcp:listen(0, Options) of
            {ok, Listener} -> ready(inet:port(Listener), fun() -> accept(Listener) end);
            {error, Why} -> {error, Why}
        end
    end).

%% @doc A socket on the loopback address that reads and discards what it gets. {@link client/2}
%% names its only client.
-spec udp() -> {ok, pid(), inet:port_number()} | {error, term()}.
udp() ->
    start(fun() ->
        case gen_udp:open(0, [binary, {active, 100}, {ip, {127, 0, 0, 1}}]) of
            {ok, Socket} -> ready(inet:port(Socket), fun() -> drain_udp(Socket) end);
            {error, Why} -> {error, Why}
        end
    end).

%% @doc A gen_server that answers each call with ok.
-spec server() -> {ok, pid()} | {error, term()}.
server() ->
    case gen_server:start_link(?MODULE, none, []) of
        {ok, Pid} -> {ok, Pid};
        {error, Why} -> {error, Why};
        ignore -> {error, ignore}
    end.

%% @doc A process that answers `{write, From, Data}' with `{written, ok}': a tag, and no reference.
-spec tag() -> pid().
tag() -> spawn_link(fun answer_by_tag/0).

%% @doc Tells a peer which client is its own, by the address of the client's socket. A socket
%% without an address is closed, and its peer is about to be stopped.
-spec client(pid(), {ok, address() | term()} | {error, term()}) -> ok.
client(Peer, {ok, {_, _} = Address}) ->
    Peer ! {client, Address},
    ok;
client(_, _) ->
    ok.

%% @doc Ends a peer without harm to its owner.
-spec stop(pid()) -> ok.
stop(Pid) ->
    true = unlink(Pid),
    true = exit(Pid, kill),
    ok.

%% @private
-spec init(none) -> {ok, none}.
init(none) -> {ok, none}.

%% @private
-spec handle_call(term(), gen_server:from(), none) -> {reply, ok, none}.
handle_call({write, _}, _, none) -> {reply, ok, none}.

%% @private
-spec handle_cast(term(), none) -> {noreply, none}.
handle_cast(_, none) -> {noreply, none}.

-spec answer_by_tag() -> no_return().
answer_by_tag() ->
    receive
        {write, From, _} -> From ! {written, ok}
    end,
    answer_by_tag().

-spec ready({ok, inet:port_number()} | {error, term()}, fun(() -> ok)) ->
    {ok, inet:port_number(), fun(() -> ok)} | {error, term()}.
ready({ok, Port}, Then) -> {ok, Port, Then};
ready({error, Why}, _) -> {error, Why}.

%% Opens in the new process, since a port or socket belongs to the process that opens it.
-spec start(fun()) -> {ok, pid(), inet:port_number()} | {error, term()}.
start(Open) ->
    Owner = self(),
    Ref = make_ref(),
    Pid = spawn_link(fun() ->
        case Open() of
            {ok, Port, Then} ->
                Owner ! {Ref, {ok, self(), Port}},
                Then();
            {error, Why} ->
                Owner ! {Ref, {error, Why}},
                ok
        end
    end),
    receive
        {Ref, Answer} -> Answer
    after tailback_sink:limit() ->
        ok = stop(Pid),
        {error, timeout}
    end.

-spec accept(gen_tcp:socket()) -> ok.
accept(Listener) ->
    receive
        {client, Address} -> accept(Listener, Address)
    after tailback_sink:limit() ->
        gen_tcp:close(Listener)
    end.

%% Any process on this machine can connect, so the address of the client is checked.
-spec accept(gen_tcp:socket(), address()) -> ok.
accept(Listener, Address) ->
    case gen_tcp:accept(Listener, tailback_sink:limit()) of
        {ok, Socket} ->
            case inet:peername(Socket) of
                {ok, Address} ->
                    ok = gen_tcp:close(Listener),
                    drain_tcp(Socket);
                _ ->
                    ok = gen_tcp:close(Socket),
                    accept(Listener, Address)
            end;
        {error, _} ->
            gen_tcp:close(Listener)
    end.

-spec drain_tcp(gen_tcp:socket()) -> ok.
drain_tcp(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} -> drain_tcp(Socket);
        {error, _} -> gen_tcp:close(Socket)
    end.

-spec drain_udp(gen_udp:socket()) -> ok.
drain_udp(Socket) ->
    receive
        {client, {_, Port}} ->
            %% From here on the kernel drops what others send.
            _ = gen_udp:connect(Socket, {127, 0, 0, 1}, Port),
            drain_udp(Socket);
        {udp, Socket, _, _, _} ->
            drain_udp(Socket);
        {udp_passive, Socket} ->
            _ = inet:setopts(Socket, [{active, 100}]),
            drain_udp(Socket);
        {udp_closed, Socket} ->
            ok
    end.
