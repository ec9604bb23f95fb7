%% @private
%% @doc What one write costs while messages are queued, and where the time goes. See
%% {@link msgq_flood:cost/1}.
-module(msgq_cost).

-export([run/1, rate/1]).

-type fault() :: {atom(), binary()}.

%% Writes whose times are dropped: the first writes after the filling pay for moving the messages.
-define(WARM_UP, 2).

%% @doc Measures each queue length in its own process, in a random order that `seed' determines.
-spec run(map()) -> {ok, map()} | {error, fault()}.
run(#{lengths := Lengths, seed := Seed} = Options) ->
    Order = shuffle(lists:usort(Lengths), Seed),
    Longest = lists:max(Lengths),
    case each(Order, Options#{longest => Longest}, []) of
        {ok, Costs} ->
            Sorted = lists:sort(Costs),
            {ok, #{
                sink => maps:get(sink, Options),
                order => Order,
                seed => Seed,
                costs => [{Length, Times} || {Length, Times, _} <- Sorted],
                functions => [{Length, Seen} || {Length, _, Seen} <- Sorted]
            }};
        Fault ->
            Fault
    end.

shuffle(List, Seed) ->
    State = rand:seed_s(exsss, Seed),
    {Keyed, _} = lists:mapfoldl(
        fun(X, S) ->
            {Key, Next} = rand:uniform_s(S),
            {{Key, X}, Next}
        end,
        State,
        List
    ),
    [X || {_, X} <- lists:sort(Keyed)].

each([], _, Done) ->
    {ok, Done};
each([Length | Rest], Options, Done) ->
    case msgq_guarded:run(fun() -> at_length(Length, Options) end) of
        {ok, {Times, Seen}} -> each(Rest, Options, [{Length, Times, Seen} | Done]);
        {error, Fault} -> {error, Fault}
    end.

%% Runs in the process that writes. The messages fill the mailbox of this process or of its decoy.
at_length(Length, #{sink := Spec, message := Form} = Options) ->
    _ = [process_flag(Flag, maps:get(Flag, Options)) || Flag <- [message_queue_data, fullsweep_after]],
    Payload = msgq_senders:payload(Form),
    case tailback_sink:open(Spec) of
        {ok, Sink} ->
            %% One write before the filling: the first write of a sink may set things up.
            Opened = write(Sink, Payload),
            Holder = holder(Options),
            Answer =
                case fill(Holder, Length, Payload, maps:get(memory_limit_bytes, Options)) of
                    ok -> measure(Opened, Payload, Options#{sample_for_ms := look_ms(Length, Options)});
                    Fault -> Fault
                end,
            _ = close(Opened),
            _ = [msgq_decoy:stop(Holder) || Holder =/= self()],
            Answer;
        {error, Fault} ->
            {error, Fault}
    end.

holder(#{mailbox := server}) -> self();
holder(#{mailbox := decoy} = Options) -> msgq_decoy:start_link(Options).

look_ms(Length, #{look_at := longest, longest := Longest}) when Length < Longest -> 0;
look_ms(_, #{sample_for_ms := Ms}) -> Ms.

close({ok, Sink}) -> tailback_sink:close(Sink);
close({error, _}) -> ok.

write(Sink, Payload) ->
    case tailback_sink:write(Sink, Payload) of
        {ok, Next} -> {ok, Next};
        {error, Fault, _} -> {error, Fault};
        {closed, Fault} -> {error, Fault}
    end.

fill(_, 0, _, _) ->
    ok;
fill(Holder, Left, Payload, Most) ->
    Part = min(Left, 10000),
    Filled = fun(_) -> Holder ! {'$gen_cast', {log, none, Payload}} end,
    ok = lists:foreach(Filled, lists:seq(1, Part)),
    case erlang:memory(total) of
        Bytes when Bytes > Most ->
            Format = "memory: the VM holds ~b bytes, limit ~b; ask for shorter queues",
            {error, {memory_limit, tailback_dam_text:line(Format, [Bytes, Most])}};
        _ ->
            fill(Holder, Left - Part, Payload, Most)
    end.

measure({error, Fault}, _, _) ->
    {error, Fault};
measure({ok, Sink}, Payload, #{ops := Ops, sample_for_ms := SampleMs}) ->
    case times(?WARM_UP + Ops, Sink, Payload, []) of
        {ok, Times, Next} -> sampled(lists:nthtail(?WARM_UP, Times), Next, Payload, SampleMs);
        Fault -> Fault
    end.

times(0, Sink, _, Times) ->
    {ok, lists:reverse(Times), Sink};
times(Left, Sink, Payload, Times) ->
    Start = erlang:monotonic_time(nanosecond),
    Answer = write(Sink, Payload),
    Ns = erlang:monotonic_time(nanosecond) - Start,
    case Answer of
        {ok, Next} -> times(Left - 1, Next, Payload, [Ns / 1000 | Times]);
        Fault -> Fault
    end.

%% Samples from another process only after the timing, because sampling would disturb it.
sampled(Times, _, _, 0) ->
    {ok, {Times, []}};
sampled(Times, Sink, Payload, SampleMs) ->
    Worker = self(),
    Seen = ets:new(seen, [public]),
    Sampler = spawn_link(fun() -> look(Worker, Seen) end),
    End = erlang:monotonic_time(millisecond) + SampleMs,
    Answer = write_until(End, Sink, Payload),
    true = unlink(Sampler),
    true = exit(Sampler, kill),
    Counted = lists:reverse(lists:keysort(2, ets:tab2list(Seen))),
    case Answer of
        ok -> {ok, {Times, lists:sublist(Counted, 20)}};
        Fault -> Fault
    end.

write_until(End, Sink, Payload) ->
    case erlang:monotonic_time(millisecond) < End of
        true ->
            case write(Sink, Payload) of
                {ok, Next} -> write_until(End, Next, Payload);
                Fault -> Fault
            end;
        false ->
            ok
    end.

look(Worker, Seen) ->
    _ =
        case process_info(Worker, current_function) of
            {current_function, {_, _, _} = Mfa} -> ets:update_counter(Seen, Mfa, 1, {Mfa, 0});
            _ -> none
        end,
    timer:sleep(1),
    look(Worker, Seen).

%% @doc The rate of the sink with nothing queued: writes back to back from an empty mailbox.
-spec rate(map()) -> {ok, map()} | {error, fault()}.
rate(#{sink := Spec, message := Form, writes := Writes}) ->
    Payload = msgq_senders:payload(Form),
    case tailback_sink:open(Spec) of
        {ok, Sink} ->
            %% One write that is not timed: the first write of a sink may set things up.
            Opened = write(Sink, Payload),
            Start = erlang:monotonic_time(nanosecond),
            Answer = write_many(Writes, Opened, Payload),
            Ns = max(1, erlang:monotonic_time(nanosecond) - Start),
            _ = close(Answer),
            case Answer of
                {ok, _} -> {ok, #{wall_us => Ns div 1000, rate => Writes * 1.0e9 / Ns}};
                Fault -> Fault
            end;
        {error, Fault} ->
            {error, Fault}
    end.

write_many(0, Answer, _) -> Answer;
write_many(_, {error, Fault}, _) -> {error, Fault};
write_many(Left, {ok, Sink}, Payload) -> write_many(Left - 1, write(Sink, Payload), Payload).
