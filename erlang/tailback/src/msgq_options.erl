%% @private
%% @doc Checks the arguments of the functions of {@link msgq_flood}.
%%
%% The limits here protect the node from what a shell may request. The tool has narrower ranges
%% for its flags, and passes every option that matters. So nothing here is a default or a range of
%% its parameters.
-module(msgq_options).

-export([flood/2, server/1, measure/1, cost/1, rate/1, compare/1, profile/1]).

-type fault() :: {atom(), binary()}.

%% A message in a mailbox takes about 150 bytes. All messages of an unlimited flood must fit into
%% memory.
-define(MOST_DIRECT, 10000000).
-define(MOST_TALLIED, 100000000).
%% Most bytes that the VM may hold, if the shell gives no limit.
-define(MEMORY_LIMIT, (2 * 1024 * 1024 * 1024)).
%% Most bytes of a message; a message is one binary.
-define(MOST_LARGE, (1024 * 1024 * 1024)).

%% @doc Checks the numbers of a flood that nothing slows down.
-spec flood(term(), term()) -> ok | {error, fault()}.
flood(Senders, Messages) ->
    case first_fault([fault(senders, Senders), fault(messages, Messages)]) of
        ok -> too_many(Senders, Messages, ?MOST_DIRECT);
        Fault -> Fault
    end.

%% @doc The options of the server and its dam.
-spec server(map()) -> {ok, map()} | {error, fault()}.
server(Given) ->
    checked(Given, #{
        sink => none,
        dam => threshold,
        dam_options => #{},
        message_queue_data => on_heap,
        fullsweep_after => element(2, erlang:system_info(fullsweep_after))
    }).

%% @doc The options of one trial.
-spec measure(map()) -> {ok, map()} | {error, fault()}.
measure(Given) ->
    {ok, Server} = server(#{}),
    Defaults = Server#{
        sink => port,
        dam => none,
        senders => 100,
        messages => 100,
        message => small,
        pace => flood,
        mailbox => server,
        sample_ms => 20,
        memory_limit_bytes => ?MEMORY_LIMIT,
        timeout_ms => 30000,
        kill_after_ms => [],
        restart_after_ms => 10
    },
    case checked(Given, Defaults) of
        {ok, #{pace := one_at_a_time, dam := Dam}} when Dam =/= none ->
            wrong(pace, one_at_a_time, "flood, since there is a dam");
        {ok, #{mailbox := decoy, dam := Dam}} when Dam =/= none ->
            wrong(mailbox, decoy, "server, since there is a dam");
        {ok, #{mailbox := decoy, pace := one_at_a_time}} ->
            wrong(mailbox, decoy, "server, since nothing waits");
        {ok, #{mailbox := decoy, kill_after_ms := [_ | _]}} ->
            wrong(mailbox, decoy, "server, since it is killed");
        {ok, Options} ->
            limited(Options, ?MOST_TALLIED);
        Fault ->
            Fault
    end.

%% @doc The options of {@link msgq_flood:cost/1}.
-spec cost(map()) -> {ok, map()} | {error, fault()}.
cost(Given) ->
    checked(Given, #{
        sink => port,
        message => small,
        lengths => [0, 1000, 10000, 50000, 100000, 200000],
        ops => 30,
        seed => 1,
        message_queue_data => on_heap,
        fullsweep_after => element(2, erlang:system_info(fullsweep_after)),
        memory_limit_bytes => ?MEMORY_LIMIT,
        mailbox => server,
        sample_for_ms => 100,
        look_at => all
    }).

%% @doc The options of {@link msgq_flood:rate/1}.
-spec rate(map()) -> {ok, map()} | {error, fault()}.
rate(Given) ->
    checked(Given, #{sink => port, message => small, writes => 10000}).

%% @doc The options of {@link msgq_flood:compare/1}.
-spec compare(map()) -> {ok, map()} | {error, fault()}.
compare(Given) ->
    Defaults = #{
        sink => port,
        senders => 100,
        messages => 10000,
        message => small,
        dam_options => #{},
        reference => 100000,
        original_for_ms => 60000,
        timeout_ms => 300000,
        memory_limit_bytes => ?MEMORY_LIMIT,
        print => true
    },
    case checked(Given, Defaults) of
        {ok, Options} ->
            limited(Options, ?MOST_DIRECT);
        Fault ->
            Fault
    end.

%% @doc The options of {@link msgq_flood:profile/1}.
-spec profile(map()) -> {ok, map()} | {error, fault()}.
profile(Given) ->
    checked(Given, #{
        sink => port,
        message => small,
        queued => 50000,
        for_ms => 2000,
        tool => auto,
        print => true
    }).

-spec checked(map(), map()) -> {ok, map()} | {error, fault()}.
checked(Given, Defaults) when is_map(Given) ->
    Unknown = maps:keys(Given) -- maps:keys(Defaults),
    Options = maps:merge(Defaults, Given),
    Faults = [wrong(Key, none, "no such option") || Key <- Unknown],
    case first_fault(Faults ++ [fault(Key, Value) || {Key, Value} <- maps:to_list(Options)]) of
        ok -> {ok, Options};
        Fault -> Fault
    end;
checked(Given, _) ->
    wrong(options, Given, "a map").

-spec first_fault([ok | {error, fault()}]) -> ok | {error, fault()}.
first_fault([]) -> ok;
first_fault([ok | Rest]) -> first_fault(Rest);
first_fault([Fault | _]) -> Fault.

-spec limited(map(), pos_integer()) -> {ok, map()} | {error, fault()}.
limited(#{senders := Senders, messages := Messages} = Options, Most) ->
    case too_many(Senders, Messages, Most) of
        ok -> {ok, Options};
        Fault -> Fault
    end.

-spec fault(atom(), term()) -> ok | {error, fault()}.
fault(sink, Spec) ->
    case tailback_sink:check(Spec) of
        {ok, _} -> ok;
        Fault -> Fault
    end;
fault(dam_options, Options) when is_map(Options) ->
    ok;
fault(dam, Dam) ->
    one_of(dam, Dam, [none, threshold, credit]);
fault(pace, Value) ->
    one_of(pace, Value, [flood, one_at_a_time]);
fault(mailbox, Value) ->
    one_of(mailbox, Value, [server, decoy]);
fault(look_at, Value) ->
    one_of(look_at, Value, [all, longest]);
fault(message_queue_data, Value) ->
    one_of(message_queue_data, Value, [on_heap, off_heap]);
fault(tool, Value) ->
    one_of(tool, Value, [auto, tprof, eprof]);
fault(print, Value) ->
    one_of(print, Value, [true, false]);
fault(message, {large, Bytes}) ->
    range({message, large}, Bytes, 1, ?MOST_LARGE);
fault(message, Value) ->
    one_of(message, Value, [byte, small, refc, {large, 1024}]);
fault(senders, N) ->
    range(senders, N, 1, erlang:system_info(process_limit));
fault(messages, N) ->
    range(messages, N, 1, ?MOST_TALLIED);
fault(fullsweep_after, N) ->
    range(fullsweep_after, N, 0, 65535);
fault(sample_ms, N) ->
    range(sample_ms, N, 1, 10000);
fault(memory_limit_bytes, N) ->
    range(memory_limit_bytes, N, 1024 * 1024, 1 bsl 50);
fault(reference, N) ->
    range(reference, N, 1, ?MOST_DIRECT);
fault(original_for_ms, N) ->
    range(original_for_ms, N, 1, 86400000);
fault(timeout_ms, N) ->
    range(timeout_ms, N, 1, 86400000);
fault(restart_after_ms, N) ->
    range(restart_after_ms, N, 0, 60000);
fault(ops, N) ->
    range(ops, N, 1, 100000);
fault(writes, N) ->
    range(writes, N, 1, 100000000);
fault(sample_for_ms, N) ->
    range(sample_for_ms, N, 0, 60000);
fault(for_ms, N) ->
    range(for_ms, N, 1, 600000);
fault(queued, N) ->
    range(queued, N, 0, ?MOST_DIRECT);
fault(seed, N) ->
    range(seed, N, 0, 1 bsl 64);
fault(lengths, [_ | _] = Lengths) ->
    first_fault([range(lengths, N, 0, ?MOST_DIRECT) || N <- Lengths]);
fault(kill_after_ms, Times) when is_list(Times) ->
    first_fault([range(kill_after_ms, N, 0, 86400000) || N <- Times]);
fault(Key, Value) ->
    wrong(Key, Value, "a list or map, see the documentation").

one_of(Key, Value, Known) ->
    case lists:member(Value, Known) of
        true -> ok;
        false -> wrong(Key, Value, io_lib:format("one of ~0tp", [Known]))
    end.

range(_, N, Low, High) when is_integer(N), N >= Low, N =< High -> ok;
range(Key, N, Low, High) -> wrong(Key, N, io_lib:format("a number from ~b to ~b", [Low, High])).

too_many(Senders, Messages, Most) when Senders * Messages =< Most ->
    ok;
too_many(Senders, Messages, Most) ->
    Total = io_lib:format("~b x ~b messages", [Senders, Messages]),
    wrong(messages, Total, io_lib:format("at most ~b in all", [Most])).

-spec wrong(term(), term(), iodata()) -> {error, fault()}.
wrong(Key, Value, Wanted) when is_list(Value) ->
    Text =
        case io_lib:deep_char_list(Value) of
            true -> Value;
            false -> io_lib:format("~0tP", [Value, 12])
        end,
    {error, {bad_option, tailback_dam_text:line("~0tp: ~ts; want ~ts", [Key, Text, Wanted])}};
wrong(Key, Value, Wanted) ->
    {error, {bad_option, tailback_dam_text:line("~0tp: ~0tP; want ~ts", [Key, Value, 12, Wanted])}}.

