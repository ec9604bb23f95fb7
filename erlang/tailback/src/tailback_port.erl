%% @private
%% @doc The Erlang end of the connection between the tailback tool and a node that the tool
%% drives.
%%
%% The protocol is described in schema/port.md. The tool starts the node with
%% `-run tailback_port start IN OUT'. IN and OUT are the numbers of two inherited descriptors:
%% calls come in on the first, answers and events go out on the second. Standard output is not
%% used, since anything in the VM may write to it.
%%
%% The server reads calls and starts a process for each one. Every process writes its own answers
%% and events to the port. So neither a long call nor a tool that reads slowly delays the server,
%% and an event does not wait until a second process is scheduled.
-module(tailback_port).

-export([start/1, tell/1, teller/0]).
%% Entry point of the process that guards the server.
-export([guard/1]).
-export_type([tell/0]).

-type tell() :: fun((term()) -> ok).
%% Sends a term to the tool, as an event of the call for which the fun was made.

-define(PROTOCOL, 1).
%% Most bytes in a frame. The tool ends a node that sends more.
-define(MOST_BYTES, 16#4000000).
%% Most bytes of printed text in one frame.
-define(MOST_PRINTED, 65536).
%% Most characters in the reason of a failure.
-define(MOST_REASON, 2000).
-define(TELL, '$tell').

-record(state, {
    port :: port(),
    printer :: pid(),
    %% The running calls, by the monitor of their process and by their number.
    ids = #{} :: #{reference() => integer()},
    workers = #{} :: #{integer() => pid()}
}).

%% @doc Starts the server on two descriptors, given as decimal strings by `erl -run'.
%%
%% The node ends when the tool closes its end. A frame that makes no sense is answered with
%% `{failed, 0, Reason}', and the node goes on.
-spec start([string()]) -> ok.
start([In, Out]) ->
    Descriptors = {list_to_integer(In), list_to_integer(Out)},
    _ = spawn(?MODULE, guard, [Descriptors]),
    ok.

%% The port does not close its descriptors when its owner dies, so the tool would never notice.
-spec guard({non_neg_integer(), non_neg_integer()}) -> no_return().
guard(Descriptors) ->
    {_, Monitor} = spawn_monitor(fun() -> init(Descriptors) end),
    receive
        {'DOWN', Monitor, process, _, Reason} ->
            io:put_chars(standard_error, ["tailback_port: ", reason(Reason), $\n]),
            halt(1)
    end.

%% @doc Sends an event of the call that the calling process serves.
%%
%% Blocks while the tool does not read. Fails with `badarg' outside a call. Give a
%% {@link teller/0} to a process that the call has started.
-spec tell(term()) -> ok.
tell(Term) ->
    (teller())(Term).

%% @doc A function that sends events of this call from any process, even after the call has ended.
-spec teller() -> tell().
teller() ->
    case get(?MODULE) of
        {Port, Id} -> teller(Port, Id);
        undefined -> error(badarg)
    end.

-spec teller(port(), integer()) -> tell().
teller(Port, Id) ->
    fun(Term) -> send(Port, {event, Id, Term}) end.

%%% The server

-spec init({non_neg_integer(), non_neg_integer()}) -> no_return().
init({In, Out}) ->
    true = register(?MODULE, self()),
    _ = process_flag(trap_exit, true),
    %% A call has to start even while ordinary processes fill the run queues.
    _ = process_flag(priority, high),
    Port = open_port({fd, In, Out}, [binary, {packet, 4}, eof]),
    Printer = spawn_link(fun() -> print(Port) end),
    ok = send(Port, {hello, hello()}),
    loop(#state{port = Port, printer = Printer}).

-spec loop(#state{}) -> no_return().
loop(#state{port = Port} = State) ->
    receive
        {Port, {data, Frame}} -> loop(heard(Frame, State));
        %% The tool has closed its end, or is gone.
        {Port, eof} -> halt(0, [{flush, false}]);
        {'EXIT', Port, _} -> halt(0, [{flush, false}]);
        {'EXIT', _, _} -> loop(State);
        {'DOWN', Monitor, process, _, Reason} -> loop(ended(Monitor, Reason, State));
        _ -> loop(State)
    end.

-spec heard(binary(), #state{}) -> #state{}.
heard(Frame, #state{port = Port, workers = Workers} = State) ->
    try binary_to_term(Frame) of
        {call, Id, Module, Function, Args} when
            is_integer(Id), is_atom(Module), is_atom(Function), is_list(Args)
        ->
            call(Id, {Module, Function, Args}, State);
        {cancel, Id} ->
            _ = [exit(Pid, kill) || {ok, Pid} <- [maps:find(Id, Workers)]],
            State;
        _ ->
            ok = send(Port, {failed, 0, <<"a frame that is no call">>}),
            State
    catch
        error:badarg ->
            ok = send(Port, {failed, 0, <<"a frame that is no term">>}),
            State
    end.

-spec call(integer(), {module(), atom(), [term()]}, #state{}) -> #state{}.
call(Id, Call, #state{port = Port, printer = Printer} = State) ->
    Work = fun() ->
        true = group_leader(Printer, self()),
        _ = put(?MODULE, {Port, Id}),
        work(Port, Id, Call)
    end,
    {Pid, Monitor} = spawn_monitor(Work),
    State#state{
        ids = maps:put(Monitor, Id, State#state.ids),
        workers = maps:put(Id, Pid, State#state.workers)
    }.

-spec work(port(), integer(), {module(), atom(), [term()]}) -> ok.
work(Port, Id, {Module, Function, Args}) ->
    Tell = teller(Port, Id),
    try apply(Module, Function, [with_teller(Arg, Tell) || Arg <- Args]) of
        Result -> send(Port, {result, Id, Result})
    catch
        Class:Reason:Stack -> send(Port, {failed, Id, reason({Class, Reason, Stack})})
    end.

%% Funs cannot be sent, so an atom stands for the teller of the call.
-spec with_teller(term(), tell()) -> term().
with_teller(?TELL, Tell) ->
    Tell;
with_teller(Map, Tell) when is_map(Map) ->
    maps:map(
        fun
            (_, ?TELL) -> Tell;
            (_, Value) -> Value
        end,
        Map
    );
with_teller(Other, _) ->
    Other.

-spec ended(reference(), term(), #state{}) -> #state{}.
ended(Monitor, Reason, #state{port = Port, ids = Ids, workers = Workers} = State) ->
    case maps:take(Monitor, Ids) of
        {Id, Rest} ->
            _ = [send(Port, {failed, Id, reason(Reason)}) || Reason =/= normal],
            State#state{ids = Rest, workers = maps:remove(Id, Workers)};
        error ->
            State
    end.

%%% What is sent

-spec send(port(), tuple()) -> ok.
send(Port, Message) ->
    %% The size is checked first, so that no time or memory goes into encoding what cannot be
    %% sent.
    Small = erlang:external_size(Message) =< ?MOST_BYTES,
    %% Atoms in UTF-8: every OTP release understands it, but OTP 25 does not use it by default.
    try Small andalso port_command(Port, term_to_binary(Message, [{minor_version, 2}])) of
        true -> ok;
        false -> send(Port, too_large(Message))
    catch
        %% The port is closed: the tool has gone, and the node ends.
        error:badarg -> ok
    end.

-spec too_large(tuple()) -> {failed, integer(), binary()}.
too_large(Message) when tuple_size(Message) =:= 3, is_integer(element(2, Message)) ->
    {failed, element(2, Message), <<"an answer or event of more than 64 MiB">>};
too_large(_) ->
    {failed, 0, <<"a message of more than 64 MiB">>}.

-spec reason(term()) -> binary().
reason(Reason) ->
    %% Formatted to a limited depth, since a reason may hold a whole state.
    Text = lists:flatten(io_lib:format("~0tP", [Reason, 60])),
    unicode:characters_to_binary(lists:sublist(Text, ?MOST_REASON)).

-spec hello() -> map().
hello() ->
    maps:from_list(
        [
            {protocol, ?PROTOCOL},
            {os_pid, list_to_integer(os:getpid())},
            {otp_release, list_to_binary(erlang:system_info(otp_release))},
            {erts, list_to_binary(erlang:system_info(version))},
            {async_threads, erlang:system_info(thread_pool_size)}
            | [{Item, Value} || {Item, {ok, Value}} <- [{I, info(I)} || I <- items()]]
        ]
    ).

-spec items() -> [atom()].
items() ->
    [
        schedulers,
        schedulers_online,
        dirty_cpu_schedulers,
        dirty_cpu_schedulers_online,
        dirty_io_schedulers,
        logical_processors,
        logical_processors_online,
        logical_processors_available,
        cpu_quota,
        process_limit,
        port_limit,
        wordsize,
        emu_flavor,
        emu_type,
        build_type
    ].

%% Not every OTP release knows every item.
-spec info(atom()) -> {ok, term()} | error.
info(Item) ->
    try
        {ok, erlang:system_info(Item)}
    catch
        error:_ -> error
    end.

%%% What is printed

-spec print(port()) -> no_return().
print(Port) ->
    receive
        {io_request, From, As, Request} ->
            From ! {io_reply, As, printed(Port, Request)},
            print(Port);
        _ ->
            print(Port)
    end.

-spec printed(port(), term()) -> term().
printed(Port, {put_chars, Encoding, Chars}) ->
    put_chars(Port, fun() -> unicode:characters_to_binary(Chars, Encoding, utf8) end);
printed(Port, {put_chars, Encoding, Module, Function, Args}) ->
    Chars = fun() -> apply(Module, Function, Args) end,
    put_chars(Port, fun() -> unicode:characters_to_binary(Chars(), Encoding, utf8) end);
printed(Port, {put_chars, Chars}) ->
    printed(Port, {put_chars, latin1, Chars});
printed(Port, {requests, Requests}) ->
    lists:foldl(
        fun
            (Request, ok) -> printed(Port, Request);
            (_, Error) -> Error
        end,
        ok,
        Requests
    );
printed(_, _) ->
    %% This group leader has no input and no terminal.
    {error, enotsup}.

-spec put_chars(port(), fun(() -> term())) -> ok | {error, put_chars}.
put_chars(Port, Chars) ->
    try Chars() of
        Text when is_binary(Text) -> send_text(Port, Text);
        _ -> {error, put_chars}
    catch
        _:_ -> {error, put_chars}
    end.

-spec send_text(port(), binary()) -> ok.
send_text(Port, <<Chunk:?MOST_PRINTED/binary, Rest/binary>>) when Rest =/= <<>> ->
    ok = send(Port, {printed, Chunk}),
    send_text(Port, Rest);
send_text(Port, Text) ->
    send(Port, {printed, Text}).
