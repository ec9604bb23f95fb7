%% @private
%% @doc Writes to a program through a port and waits until it answers.
%%
%% This is how raw files worked until OTP 20, and it shows the original's collapse on every
%% release. The receive waits for a message of this port. There is no new reference to tell the VM
%% that older messages cannot match, so each write goes through the whole mailbox.
-module(tailback_sink_port).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

-type framing() :: {packet, 1 | 2 | 4} | {line, pos_integer()}.
-record(port, {port :: port(), framing :: framing()}).

-define(PROGRAM, "/bin/cat").
%% Without this redirection, cat would complain on the terminal when its reader is killed.
-define(COMMAND, "exec " ++ ?PROGRAM ++ " 2>/dev/null").

%% @private
-spec open(tailback_sink:spec()) -> {ok, #port{}} | {error, tailback_sink:fault()}.
open(port) ->
    open({port, {packet, 4}});
open({port, Framing}) ->
    try
        {ok, #port{
            port = open_port({spawn_executable, "/bin/sh"}, [
                {args, ["-c", ?COMMAND]}, Framing, binary, use_stdio
            ]),
            framing = Framing
        }}
    catch
        error:Why -> {error, fault(open_failed, "cannot be started", Why)}
    end.

%% @private
-spec write(#port{}, iodata()) ->
    {ok, #port{}} | {error, tailback_sink:fault(), #port{}} | {closed, tailback_sink:fault()}.
write(#port{port = Port, framing = Framing} = State, Data) ->
    case frame(Framing, Data) of
        too_long ->
            {error, fault(too_long, "write", <<"message does not fit the framing">>), State};
        Framed ->
            try port_command(Port, Framed) of
                true -> answer(State)
            catch
                error:_ -> closed(State, fault(port_closed, "write", <<"the port is closed">>))
            end
    end.

-spec answer(#port{}) -> {ok, #port{}} | {closed, tailback_sink:fault()}.
answer(#port{port = Port} = State) ->
    receive
        {Port, {data, _}} -> {ok, State};
        {'EXIT', Port, Why} -> {closed, fault(port_closed, "ended", Why)}
    after tailback_sink:limit() ->
        closed(State, fault(port_timeout, "write", <<"no answer in time">>))
    end.

%% @private
-spec close(#port{}) -> ok.
close(#port{port = Port}) ->
    true = unlink(Port),
    true = close_port(Port),
    receive
        {'EXIT', Port, _} -> ok
    after 0 -> ok
    end.

-spec close_port(port()) -> true.
close_port(Port) ->
    try
        port_close(Port)
    catch
        %% It is closed already.
        error:badarg -> true
    end.

-spec closed(#port{}, tailback_sink:fault()) -> {closed, tailback_sink:fault()}.
closed(State, Fault) ->
    ok = close(State),
    {closed, Fault}.

%% A line gets exactly one answer only if it is a single line and the port does not split it.
-spec frame(framing(), iodata()) -> iodata() | too_long.
frame({packet, Bytes}, Data) ->
    case iolist_size(Data) < 1 bsl (8 * Bytes) of
        true -> Data;
        false -> too_long
    end;
frame({line, Max}, Data) ->
    case iolist_size(Data) < Max andalso binary:match(iolist_to_binary(Data), <<"\n">>) of
        nomatch -> [Data, $\n];
        _ -> too_long
    end.

-spec fault(atom(), iodata(), term()) -> tailback_sink:fault().
fault(Name, What, Why) ->
    {Name, tailback_sink:error_line(["port ", ?PROGRAM], What, Why)}.
