%% @private
%% @doc Profiles the server while it is flooded, with the profiler of this OTP release: tprof from
%% OTP 27 on, eprof before. See {@link msgq_flood:profile/1}.
%%
%% Such a profile misleads, as the original found. The time that a receive spends on scanning the
%% mailbox is charged to the traced function that ran last. {@link msgq_flood:cost/1} samples
%% instead.
-module(msgq_profile).

-export([run/2]).

-type row() :: {mfa(), Calls :: non_neg_integer(), Us :: number()}.

%% @doc Floods a server that is registered as `Name' and profiles it. The most expensive rows come
%% last.
-spec run(map(), atom()) -> {ok, #{tool := atom(), rows := [row()]}} | {error, {atom(), binary()}}.
run(#{sink := Spec, message := Form, queued := Queued, for_ms := Ms} = Options, Name) ->
    case tool(maps:get(tool, Options)) of
        {error, Fault} ->
            {error, Fault};
        {ok, Tool} ->
            case msgq_server:start_link(Name, #{sink => Spec, quiet => true}) of
                {ok, Server} ->
                    Payload = msgq_senders:payload(Form),
                    Fill = fun(_) -> gen_server:cast(Server, {log, none, Payload}) end,
                    %% Suspended until the profiling starts; a short queue would be empty before
                    %% that.
                    true = erlang:suspend_process(Server),
                    ok = lists:foreach(Fill, lists:seq(1, Queued)),
                    Rows = profile(Tool, Server, Ms),
                    true = unlink(Server),
                    true = exit(Server, kill),
                    finish(Tool, Rows, maps:get(print, Options));
                {error, Fault} ->
                    {error, Fault}
            end
    end.

tool(Asked) ->
    Has = fun(Tool) -> code:which(Tool) =/= non_existing end,
    case [Tool || Tool <- wanted(Asked), Has(Tool)] of
        [Tool | _] ->
            not_busy(Tool, whereis(Tool));
        [] ->
            Line = <<"profile: neither tprof nor eprof is installed; install the tools application "
                     "of Erlang/OTP (Debian: erlang-tools)">>,
            {error, {no_profiler, Line}}
    end.

not_busy(Tool, undefined) ->
    {ok, Tool};
not_busy(Tool, _) ->
    Line = tailback_dam_text:line("profile: ~s runs already in this VM; stop it first", [Tool]),
    {error, {profiler_busy, Line}}.

wanted(auto) -> [tprof, eprof];
wanted(Tool) -> [Tool].

finish(_, {error, Why}, _) ->
    Line = tailback_dam_text:line("profile: the profiler refused: ~0tP", [Why, 12]),
    {error, {profiler_failed, Line}};
finish(Tool, Rows, Print) ->
    Sorted = lists:keysort(3, Rows),
    _ = [io:put_chars(table(Sorted)) || Print],
    {ok, #{tool => Tool, rows => Sorted}}.

%% Called by name, since not every release has both profilers.
profile(tprof, Server, Ms) ->
    Tprof = list_to_atom("tprof"),
    case Tprof:start(#{type => call_time}) of
        {ok, _} ->
            _ = Tprof:set_pattern('_', '_', '_'),
            _ = Tprof:enable_trace(Server),
            true = erlang:resume_process(Server),
            timer:sleep(Ms),
            _ = Tprof:disable_trace(Server),
            {call_time, Traces} = Tprof:collect(),
            _ = Tprof:stop(),
            [tprof_row(Trace) || Trace <- Traces];
        Other ->
            {error, Other}
    end;
profile(eprof, Server, Ms) ->
    case heard(fun() -> eprof(Server, Ms) end) of
        {ok, Text} -> eprof_rows(Text);
        {{error, Why}, _} -> {error, Why}
    end.

eprof(Server, Ms) ->
    Eprof = list_to_atom("eprof"),
    {ok, _} = Eprof:start(),
    Profiled =
        case Eprof:start_profiling([Server]) of
            profiling ->
                true = erlang:resume_process(Server),
                timer:sleep(Ms),
                _ = Eprof:stop_profiling(),
                _ = Eprof:analyze(total),
                ok;
            Other ->
                {error, Other}
        end,
    _ = Eprof:stop(),
    Profiled.

tprof_row({Module, {Function, Arity}, Each}) ->
    {{Module, Function, Arity}, sum(2, Each), sum(3, Each)};
tprof_row({Module, Function, Arity, Each}) ->
    {{Module, Function, Arity}, sum(2, Each), sum(3, Each)}.

sum(N, Each) -> lists:sum([element(N, E) || E <- Each]).

%% Returns the answer of the function, and the text that it and the processes that it starts print.
%%
%% eprof gives its table only as text. It prints the table through the group leader of the process
%% that started it, and can also write it to a file. A file would lie in a folder that others share:
%% its name could be a link of another user, and it would stay if this VM was killed.
heard(Fun) ->
    Leader = group_leader(),
    Listener = spawn_link(fun() -> listen([]) end),
    true = group_leader(Listener, self()),
    try
        Answer = Fun(),
        Listener ! {text, self()},
        receive
            {Listener, Text} -> {Answer, Text}
        end
    after
        true = group_leader(Leader, self()),
        true = unlink(Listener),
        true = exit(Listener, kill)
    end.

listen(Heard) ->
    receive
        {io_request, From, As, Request} ->
            From ! {io_reply, As, ok},
            listen([Heard, text(Request)]);
        {text, From} ->
            From ! {self(), unicode:characters_to_binary(Heard)};
        _ ->
            listen(Heard)
    end.

text({put_chars, _, Text}) -> Text;
text({put_chars, _, Module, Function, Args}) -> apply(Module, Function, Args);
text(_) -> [].

eprof_rows(Text) ->
    Pattern = "^(\\S+):(\\S+)/(\\d+) +(\\d+) +[\\d.]+ +(\\d+) +\\[",
    case re:run(Text, Pattern, [global, multiline, {capture, all_but_first, list}]) of
        {match, Lines} -> [eprof_row(Line) || Line <- Lines];
        nomatch -> []
    end.

eprof_row([Module, Function, Arity, Calls, Us]) ->
    Mfa = {name(Module), name(Function), list_to_integer(Arity)},
    {Mfa, list_to_integer(Calls), list_to_integer(Us)}.

%% These names belong to code that has just run, so the atoms exist.
name(Text) -> list_to_existing_atom(string:trim(Text, both, "'")).

table(Rows) ->
    Total = max(1, lists:sum([Us || {_, _, Us} <- Rows])),
    [
        io_lib:format("~-48s ~10s ~7s ~12s ~14s~n", ["FUNCTION", "CALLS", "%", "TIME", "[uS / CALLS]"])
        | [line(Row, Total) || Row <- Rows]
    ].

line({{Module, Function, Arity}, Calls, Us}, Total) ->
    Name = io_lib:format("~tw:~tw/~b", [Module, Function, Arity]),
    Per = io_lib:format("[~12.2f]", [Us / max(1, Calls)]),
    io_lib:format("~-48ts ~10b ~7.2f ~12b ~ts~n", [Name, Calls, 100 * Us / Total, round(Us), Per]).
