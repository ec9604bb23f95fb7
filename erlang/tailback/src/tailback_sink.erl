%% @doc Where the log server writes to: a behaviour, and the list of the known sinks.
%%
%% Sinks differ in how a write waits for its answer. That decides whether a long mailbox makes the
%% write slow: a receive that cannot exclude older messages has to look at all of them.
%%
%% A failed write is a value, never a crash: `{error, ...}' if the next write may work,
%% `{closed, ...}' if the sink has to be opened again. No write waits longer than {@link limit/0}.
-module(tailback_sink).

-export([check/1, open/1, write/2, close/1, limit/0, error_line/3]).

-export_type([spec/0, sink/0, fault/0]).

-type spec() ::
    none
    | null
    | {file, file:name_all(), [append | raw | delayed_write]}
    | port
    | {port, {packet, 1 | 2 | 4} | {line, pos_integer()}}
    | tcp
    | {tcp, inet | socket}
    | {tcp, inet | socket, inet:hostname() | inet:ip_address(), inet:port_number()}
    | udp
    | {udp, inet:hostname() | inet:ip_address(), inet:port_number()}
    | gen_server
    | tag.
%% `port' is `{port, {packet, 4}}' and `tcp' is `{tcp, inet}'. Without a host the network sinks
%% start the other end themselves.
-type fault() :: {atom(), binary()}.
-opaque sink() :: {module(), term()}.

-callback open(spec()) -> {ok, State :: term()} | {error, fault()}.
-callback write(State, iodata()) ->
    {ok, State} | {error, fault(), State} | {closed, fault()}
when
    State :: term().
-callback close(State :: term()) -> ok | {error, fault()}.

%% @doc Milliseconds after which a write that gets no answer fails.
-spec limit() -> pos_integer().
limit() -> 5000.

%% @doc Checks that a sink is known; the line of the error lists the known sinks.
-spec check(term()) -> {ok, spec()} | {error, fault()}.
check(Spec) ->
    case module(Spec) of
        none -> {error, {unknown_sink, unknown(Spec)}};
        _ -> {ok, Spec}
    end.

%% @doc Opens a sink. It belongs to the calling process, which alone may write to it.
-spec open(term()) -> {ok, sink()} | {error, fault()}.
open(Spec) ->
    case module(Spec) of
        none ->
            {error, {unknown_sink, unknown(Spec)}};
        Module ->
            case Module:open(Spec) of
                {ok, State} -> {ok, {Module, State}};
                {error, Fault} -> {error, Fault}
            end
    end.

%% @doc Writes once and waits for the answer, if the sink gives one.
-spec write(sink(), iodata()) -> {ok, sink()} | {error, fault(), sink()} | {closed, fault()}.
write({Module, State}, Data) ->
    case Module:write(State, Data) of
        {ok, Next} -> {ok, {Module, Next}};
        {error, Fault, Next} -> {error, Fault, {Module, Next}};
        {closed, Fault} -> {closed, Fault}
    end.

%% @doc Closes a sink; an error belongs to a write that was delayed.
-spec close(sink()) -> ok | {error, fault()}.
close({Module, State}) -> Module:close(State).

%% @doc A line that says what failed, where, and why.
-spec error_line(iodata(), iodata(), term()) -> binary().
error_line(What, Where, Why) ->
    tailback_dam_text:line("~ts: ~ts: ~ts", [What, Where, reason(Why)]).

-spec reason(term()) -> iodata().
reason(Why) when is_atom(Why) ->
    case inet:format_error(Why) of
        "unknown POSIX error" ++ _ -> atom_to_list(Why);
        Text -> Text
    end;
reason(Why) when is_binary(Why) ->
    Why;
reason(Why) when is_list(Why) ->
    case io_lib:deep_char_list(Why) of
        true -> Why;
        false -> io_lib:format("~0tp", [Why])
    end;
reason(Why) ->
    io_lib:format("~0tp", [Why]).

-spec module(term()) -> module() | none.
module(none) ->
    tailback_sink_none;
module(null) ->
    tailback_sink_file;
module({file, Path, Options}) when is_list(Options) ->
    Known = [append, raw, delayed_write],
    case is_path(Path) andalso Options -- Known =:= [] of
        true -> tailback_sink_file;
        false -> none
    end;
module(port) ->
    tailback_sink_port;
module({port, {packet, N}}) when N =:= 1; N =:= 2; N =:= 4 ->
    tailback_sink_port;
module({port, {line, N}}) when is_integer(N), N > 0, N =< 1048576 ->
    tailback_sink_port;
module(tcp) ->
    tailback_sink_tcp;
module({tcp, Backend}) when Backend =:= inet; Backend =:= socket ->
    tailback_sink_tcp;
module({tcp, Backend, _, Port}) when
    Backend =:= inet orelse Backend =:= socket, is_integer(Port), Port > 0, Port < 65536
->
    tailback_sink_tcp;
module(udp) ->
    tailback_sink_udp;
module({udp, _, Port}) when is_integer(Port), Port > 0, Port < 65536 ->
    tailback_sink_udp;
module(gen_server) ->
    tailback_sink_gen_server;
module(tag) ->
    tailback_sink_tag;
module(_) ->
    none.

-spec is_path(term()) -> boolean().
is_path(Path) when is_binary(Path) -> Path =/= <<>>;
is_path(Path) -> Path =/= [] andalso io_lib:char_list(Path).

-spec unknown(term()) -> binary().
unknown(Spec) ->
    tailback_dam_text:line(
        "sink ~0tP: unknown; use none, null, {file, Path, Options of append raw delayed_write}, "
        "port, {port, {packet, 4}}, {port, {line, N}}, {tcp, inet}, {tcp, socket}, udp, "
        "gen_server or tag",
        [Spec, 12]
    ).
