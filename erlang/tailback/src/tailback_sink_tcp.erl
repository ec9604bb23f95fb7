%% @private
%% @doc Sends over TCP. With the `inet' back end of OTP 25 and earlier, each send waits for its
%% answer like the port sink. OTP 26 added a reference to the answer, and the `socket' back end
%% needs none.
-module(tailback_sink_tcp).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

-record(tcp, {socket :: gen_tcp:socket(), peer :: pid() | none, where :: iodata()}).

-define(LOOPBACK, {127, 0, 0, 1}).

%% @private
-spec open(tailback_sink:spec()) -> {ok, #tcp{}} | {error, tailback_sink:fault()}.
open(tcp) ->
    open({tcp, inet});
open({tcp, Backend}) ->
    case tailback_sink_peer:tcp(Backend) of
        {ok, Peer, Port} -> connect(Backend, ?LOOPBACK, Port, Peer);
        {error, Why} -> {error, fault(listen_failed, "127.0.0.1", Why)}
    end;
open({tcp, Backend, Host, Port}) ->
    connect(Backend, Host, Port, none).

-spec connect(inet | socket, term(), inet:port_number(), pid() | none) ->
    {ok, #tcp{}} | {error, tailback_sink:fault()}.
connect(Backend, Host, Port, Peer) ->
    Where = io_lib:format("~0tp port ~b", [Host, Port]),
    %% A socket is closed when its send times out, since half a message may have gone out.
    Options = [
        {inet_backend, Backend},
        binary,
        {active, false},
        {nodelay, true},
        {send_timeout, tailback_sink:limit()},
        {send_timeout_close, true}
    ],
    try gen_tcp:connect(Host, Port, Options, tailback_sink:limit()) of
        {ok, Socket} ->
            ok = name_client(Peer, Socket),
            {ok, #tcp{socket = Socket, peer = Peer, where = Where}};
        {error, Why} ->
            ok = stop(Peer),
            {error, fault(connect_failed, Where, Why)}
    catch
        _:_ ->
            ok = stop(Peer),
            {error, fault(connect_failed, Where, <<"no such host or back end">>)}
    end.

-spec name_client(pid() | none, gen_tcp:socket()) -> ok.
name_client(none, _) -> ok;
name_client(Peer, Socket) -> tailback_sink_peer:client(Peer, inet:sockname(Socket)).

%% @private
-spec write(#tcp{}, iodata()) -> {ok, #tcp{}} | {closed, tailback_sink:fault()}.
write(#tcp{socket = Socket, where = Where} = State, Data) ->
    case gen_tcp:send(Socket, Data) of
        ok ->
            {ok, State};
        {error, Why} ->
            ok = close(State),
            {closed, fault(send_failed, Where, Why)}
    end.

%% @private
-spec close(#tcp{}) -> ok.
close(#tcp{socket = Socket, peer = Peer}) ->
    _ = gen_tcp:close(Socket),
    stop(Peer).

-spec stop(pid() | none) -> ok.
stop(none) -> ok;
stop(Peer) -> tailback_sink_peer:stop(Peer).

-spec fault(atom(), iodata(), term()) -> tailback_sink:fault().
fault(Name, Where, {timeout, _}) -> fault(Name, Where, timeout);
fault(Name, Where, Why) ->
    Line = tailback_sink:error_line("tcp", Where, Why),
    {Name, <<Line/binary, "; see that the peer runs and reads">>}.
