%% @private
%% @doc One request of a load: a round trip through a port, a file, a socket, or a timer.
-module(tailback_request).

-export([kinds/0, open/2, make/1, close/1]).
-export_type([kind/0, request/0]).

-type kind() :: port | file | tcp | timer.
-opaque request() ::
    {port, port()} | {file, file:fd()} | {tcp, gen_tcp:socket(), pid()} | timer.

-define(BYTES, 256).
%% A request that takes longer has failed.
-define(LIMIT_MS, 30000).

%% @doc The kinds of request that there are.
-spec kinds() -> [kind(), ...].
kinds() -> [port, file, tcp, timer].

%% @doc Prepares the calling process to make requests.
-spec open(kind(), Dir :: file:name_all()) -> {ok, request()} | {error, binary()}.
open(port, _) ->
    case os:find_executable("cat") of
        false ->
            {error, <<"port: no cat on the PATH; install coreutils">>};
        Cat ->
            {ok, {port, open_port({spawn_executable, Cat}, [binary, {packet, 2}, exit_status])}}
    end;
open(file, Dir) ->
    open_file(Dir);
open(tcp, _) ->
    open_tcp();
open(timer, _) ->
    {ok, timer}.

-spec open_file(file:name_all()) -> {ok, request()} | {error, binary()}.
open_file(Dir) ->
    Name = io_lib:format("tailback-~s-~b", [os:getpid(), erlang:unique_integer([positive])]),
    Path = filename:join(Dir, lists:flatten(Name)),
    case file:open(Path, [read, write, raw, binary, exclusive]) of
        {ok, File} ->
            %% An open file without a name is gone when the process ends, however it ends.
            ok = file:delete(Path),
            {ok, {file, File}};
        {error, Reason} ->
            {error, wait_text:line("~ts: ~ts; name a folder that can be written", [
                Path, file:format_error(Reason)
            ])}
    end.

-spec open_tcp() -> {ok, request()} | {error, binary()}.
open_tcp() ->
    Options = [binary, {active, false}, {packet, 2}, {nodelay, true}, {ip, {127, 0, 0, 1}}],
    case gen_tcp:listen(0, Options) of
        {ok, Listener} ->
            {ok, Port} = inet:port(Listener),
            Echo = spawn_link(fun() -> await_listener() end),
            ok = gen_tcp:controlling_process(Listener, Echo),
            Echo ! {listener, Listener},
            connect(Port, Options -- [{ip, {127, 0, 0, 1}}], Echo);
        {error, Reason} ->
            {error, wait_text:line("tcp: ~0tp", [Reason])}
    end.

-spec connect(inet:port_number(), [term()], pid()) -> {ok, request()} | {error, binary()}.
connect(Port, Options, Echo) ->
    case gen_tcp:connect({127, 0, 0, 1}, Port, Options, ?LIMIT_MS) of
        {ok, Socket} ->
            {ok, Address} = inet:sockname(Socket),
            Echo ! {client, Address},
            {ok, {tcp, Socket, Echo}};
        {error, Reason} -> {error, wait_text:line("tcp: ~0tp", [Reason])}
    end.

-spec await_listener() -> ok.
await_listener() ->
    receive
        {listener, Listener} ->
            receive
                {client, Address} -> accept(Listener, Address)
            after ?LIMIT_MS -> ok
            end
    end.

%% Any process on this machine can connect, so the address of the client is checked.
-spec accept(gen_tcp:socket(), {inet:ip_address(), inet:port_number()}) -> ok.
accept(Listener, Address) ->
    case gen_tcp:accept(Listener, ?LIMIT_MS) of
        {ok, Socket} ->
            case inet:peername(Socket) of
                {ok, Address} ->
                    ok = gen_tcp:close(Listener),
                    echo(Socket);
                _ ->
                    ok = gen_tcp:close(Socket),
                    accept(Listener, Address)
            end;
        {error, _} ->
            ok
    end.

-spec echo(gen_tcp:socket()) -> ok.
echo(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} ->
            _ = gen_tcp:send(Socket, Data),
            echo(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

%% @doc Makes one request and waits for its answer.
-spec make(request()) -> ok | error.
make({port, Port}) ->
    Payload = payload(),
    try port_command(Port, Payload) of
        true -> await_answer(Port, Payload)
    catch
        %% The port closed itself when its program ended.
        error:badarg -> error
    end;
make({file, File}) ->
    Wrote = file:pwrite(File, 0, payload()),
    case {Wrote, file:pread(File, 0, ?BYTES)} of
        {ok, {ok, _}} -> ok;
        _ -> error
    end;
make({tcp, Socket, _}) ->
    Payload = payload(),
    case gen_tcp:send(Socket, Payload) of
        ok -> await_answer(Socket, Payload, erlang:monotonic_time(millisecond) + ?LIMIT_MS);
        {error, _} -> error
    end;
make(timer) ->
    receive
    after 1 -> ok
    end.

%% The late answer of an earlier request that failed has another payload. It stays in the mailbox.
-spec await_answer(port(), binary()) -> ok | error.
await_answer(Port, Payload) ->
    receive
        {Port, {data, Payload}} -> ok;
        {Port, {exit_status, _}} -> error
    after ?LIMIT_MS -> error
    end.

%% The late answer of an earlier request that failed has another payload. It is dropped.
-spec await_answer(gen_tcp:socket(), binary(), Until :: integer()) -> ok | error.
await_answer(Socket, Payload, Until) ->
    case gen_tcp:recv(Socket, 0, max(0, Until - erlang:monotonic_time(millisecond))) of
        {ok, Payload} -> ok;
        {ok, _} -> await_answer(Socket, Payload, Until);
        {error, _} -> error
    end.

%% @doc Releases what {@link open/2} acquired.
-spec close(request()) -> ok.
close({port, Port}) ->
    try port_close(Port) of
        true -> ok
    catch
        %% The port closed itself when its program ended.
        error:badarg -> ok
    end;
close({file, File}) ->
    _ = file:close(File),
    ok;
close({tcp, Socket, _}) ->
    gen_tcp:close(Socket);
close(timer) ->
    ok.

%% The payload of each request differs, so that its answer can be told from those of others.
-spec payload() -> binary().
payload() ->
    <<(erlang:unique_integer()):64, 0:(?BYTES * 8 - 64)>>.
