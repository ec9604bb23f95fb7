%% @private
%% @doc Sends datagrams. The send waits for the answer of the driver, like the port sink.
-module(tailback_sink_udp).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

-record(udp, {
    socket :: gen_udp:socket(),
    host :: inet:hostname() | inet:ip_address(),
    port :: inet:port_number(),
    peer :: pid() | none
}).

-define(LOOPBACK, {127, 0, 0, 1}).

%% @private
-spec open(tailback_sink:spec()) -> {ok, #udp{}} | {error, tailback_sink:fault()}.
open(udp) ->
    case tailback_sink_peer:udp() of
        {ok, Peer, Port} -> open(?LOOPBACK, Port, Peer);
        {error, Why} -> {error, fault(listen_failed, "127.0.0.1", Why)}
    end;
open({udp, Host, Port}) ->
    %% Looked up once: a look-up for each datagram would dominate the measurement.
    case inet:getaddr(Host, inet) of
        {ok, Address} -> open(Address, Port, none);
        {error, Why} -> {error, fault(no_host, io_lib:format("~0tp", [Host]), Why)}
    end.

-spec open(inet:ip_address(), inet:port_number(), pid() | none) ->
    {ok, #udp{}} | {error, tailback_sink:fault()}.
open(Host, Port, Peer) ->
    case gen_udp:open(0, [binary, {active, false}]) of
        {ok, Socket} ->
            ok = name_client(Peer, Socket),
            {ok, #udp{socket = Socket, host = Host, port = Port, peer = Peer}};
        {error, Why} ->
            ok = stop(Peer),
            {error, fault(open_failed, "socket", Why)}
    end.

-spec name_client(pid() | none, gen_udp:socket()) -> ok.
name_client(none, _) -> ok;
name_client(Peer, Socket) -> tailback_sink_peer:client(Peer, inet:sockname(Socket)).

%% @private
-spec write(#udp{}, iodata()) ->
    {ok, #udp{}} | {error, tailback_sink:fault(), #udp{}} | {closed, tailback_sink:fault()}.
write(#udp{socket = Socket, host = Host, port = Port} = State, Data) ->
    case gen_udp:send(Socket, Host, Port, Data) of
        ok ->
            {ok, State};
        {error, closed} ->
            ok = stop(State#udp.peer),
            {closed, fault(send_failed, "socket", closed)};
        {error, Why} ->
            {error, fault(send_failed, io_lib:format("~0tp port ~b", [Host, Port]), Why), State}
    end.

%% @private
-spec close(#udp{}) -> ok.
close(#udp{socket = Socket, peer = Peer}) ->
    ok = gen_udp:close(Socket),
    stop(Peer).

-spec stop(pid() | none) -> ok.
stop(none) -> ok;
stop(Peer) -> tailback_sink_peer:stop(Peer).

-spec fault(atom(), iodata(), term()) -> tailback_sink:fault().
fault(Name, Where, Why) -> {Name, tailback_sink:error_line("udp", Where, Why)}.
