%% @private
%% @doc The recipe that makes schedulers fall asleep while work is queued, with a verdict at its
%% end.
%%
%% First come some runs with pauses between them. Then some of the schedulers go offline, and
%% after another pause there is a last run. {@link wait_verdict} gives the verdict on each run,
%% and on all of them together. The numbers of online schedulers are restored however the recipe
%% ends.
-module(wait_collapse).

-export([run/1]).

%% In the short recipe, the intended time of all calls of a run if they ran one after the other.
-define(SERIAL_US, 1500000).
-define(MOST_US, 30000).
-define(LEAST_US, 2000).
-define(MAX_RUNS, 1000).
-define(HOUR_MS, 3600000).

%% @doc Runs the recipe, printing what it does.
-spec run(wait:collapse_options()) -> wait:collapse_answer().
run(Options) when is_map(Options) ->
    Recipe = maps:merge(preset(Options), maps:remove(preset, Options)),
    case check(Options, Recipe) of
        ok -> wait_online:restoring(fun() -> perform(Recipe) end);
        Refusal -> Refusal
    end;
run(Other) ->
    refused("options: ~0tP is no map", [Other, 10]).

-spec preset(map()) -> map().
preset(#{preset := original}) ->
    #{
        mode => md5,
        processes => 400,
        work => 1048576,
        calls => 1100,
        iterations => 5,
        runs => 8,
        pause_ms => 12000,
        online => half()
    };
preset(Options) ->
    Processes = max(20, 5 * wait_schedulers:count(normal)),
    #{
        mode => nif_sleep,
        processes => Processes,
        work => short_work(maps:get(mode, Options, nif_sleep), Processes),
        calls => 2,
        iterations => 5,
        runs => 8,
        pause_ms => 500,
        online => half()
    }.

%% MD5 takes bytes: about 500 bytes take a microsecond.
-spec short_work(term(), pos_integer()) -> pos_integer().
short_work(Mode, Processes) ->
    Us = max(?LEAST_US, min(?MOST_US, ?SERIAL_US div (2 * Processes))),
    case lists:member(Mode, [md5, md5_yield]) of
        true -> Us * 500;
        false -> Us
    end.

-spec half() -> pos_integer().
half() ->
    Online = wait_schedulers:count(normal),
    Online - Online div 2.

-spec check(map(), map()) -> ok | wait:refusal().
check(Options, Recipe) ->
    Own = [preset, runs, pause_ms, online],
    Ranges = [
        {runs, 0, ?MAX_RUNS},
        {pause_ms, 0, ?HOUR_MS},
        {online, 1, erlang:system_info(schedulers)}
    ],
    Bad = [
        {Key, Least, Most}
     || {Key, Least, Most} <- Ranges,
        Value <- [maps:get(Key, Recipe)],
        not (is_integer(Value) andalso Value >= Least andalso Value =< Most)
    ],
    case {lists:member(maps:get(preset, Options, short), [short, original]), Bad} of
        {false, _} ->
            refused("preset: give short or original", []);
        {true, [{Key, Least, Most} | _]} ->
            refused("~s: give a whole number from ~b to ~b", [Key, Least, Most]);
        {true, []} ->
            case wait_options:check(maps:without(Own, Recipe)) of
                {ok, _} -> ok;
                Refusal -> Refusal
            end
    end.

-spec refused(io:format(), [term()]) -> wait:refusal().
refused(Format, Args) ->
    {error, {bad_options, wait_text:line(Format, Args)}}.

-spec perform(map()) -> wait:collapse_answer().
perform(#{runs := Runs} = Recipe) ->
    case first_runs(1, Runs, Recipe) of
        {ok, First} -> last_run(First, Recipe);
        Refusal -> Refusal
    end.

-spec first_runs(pos_integer(), non_neg_integer(), map()) ->
    {ok, [wait:collapse_run()]} | wait:refusal().
first_runs(Number, Runs, _Recipe) when Number > Runs ->
    {ok, []};
first_runs(Number, Runs, #{pause_ms := PauseMs} = Recipe) ->
    io:format("~n** Iteration ~b of ~b~n", [Number, Runs]),
    case one_run(Recipe) of
        {ok, Run} ->
            ok = timer:sleep(PauseMs),
            case first_runs(Number + 1, Runs, Recipe) of
                {ok, Later} -> {ok, [Run | Later]};
                Refusal -> Refusal
            end;
        Refusal ->
            Refusal
    end.

-spec last_run([wait:collapse_run()], map()) -> wait:collapse_answer().
last_run(First, #{online := Online, pause_ms := PauseMs} = Recipe) ->
    io:format("~n** ~b of ~b schedulers stay online~n", [Online, wait_schedulers:count(normal)]),
    ok = wait_online:set(Online),
    ok = timer:sleep(PauseMs),
    io:format("~n** Final iteration~n"),
    case one_run(Recipe) of
        {ok, Last} -> conclude(First ++ [Last], Recipe);
        Refusal -> Refusal
    end.

-spec one_run(map()) -> {ok, wait:collapse_run()} | wait:refusal().
one_run(#{mode := Mode, processes := Count, calls := Calls, work := Work} = Recipe) ->
    io:format("~p ~b processes, each ~b calls of ~s ~b; ~b schedulers online~n", [
        time(), Count, Calls, Mode, Work, wait_schedulers:count(normal)
    ]),
    Asked = maps:with([mode, processes, work, calls, iterations], Recipe),
    case wait:measure(Asked) of
        {ok, Result} ->
            Run = judged(Result),
            ok = print(Run),
            {ok, Run};
        Refusal ->
            Refusal
    end.

-spec judged(wait:result()) -> wait:collapse_run().
judged(#{lane_kind := Kind, run_times_us := RunTimes, scheduler_use := Use} = Result) ->
    Lanes = wait_schedulers:count(Kind),
    Online = lists:sublist([One || #{kind := K} = One <- Use, K =:= Kind], Lanes),
    Facts = maps:with([sent_us, wall_us, ideal_us, finish_us], Result),
    {Verdict, Finding} = wait_verdict:judge(Facts#{
        lanes_online => Lanes, active_us => [Active || #{active_us := Active} <- Online]
    }),
    Kept = maps:with([schedulers_online, wall_us, ideal_us], Result),
    Kept#{
        verdict => Verdict,
        finding => Finding,
        shortest_us => lists:min(RunTimes),
        longest_us => lists:max(RunTimes),
        active_percent => [wait_schedulers:percent(One) || One <- Online]
    }.

-spec print(wait:collapse_run()) -> ok.
print(#{verdict := Verdict, finding := #{reason := Reason}} = Run) ->
    #{wall_us := Wall, ideal_us := Ideal, shortest_us := Shortest, longest_us := Longest} = Run,
    io:format("~p took ~.3f s, ideally ~.3f s; run times ~.3f to ~.3f s; schedulers active ~s %~n", [
        time(), Wall / 1.0e6, Ideal / 1.0e6, Shortest / 1.0e6, Longest / 1.0e6, actives(Run)
    ]),
    io:format("~p ~s: ~ts~n", [time(), Verdict, Reason]).

-spec actives(wait:collapse_run()) -> [string()].
actives(#{active_percent := Percents}) ->
    lists:join(" / ", [integer_to_list(round(Percent)) || Percent <- Percents]).

-spec conclude([wait:collapse_run(), ...], map()) -> {wait_verdict:verdict(), wait:collapse_details()}.
conclude(Runs, Recipe) ->
    Verdicts = [Verdict || #{verdict := Verdict} <- Runs],
    Verdict = wait_verdict:overall(Verdicts),
    [Collapsed, Clear] = [
        length([V || V <- Verdicts, V =:= Which])
     || Which <- [collapse, no_collapse]
    ],
    Reason = wait_text:line(
        "schedulers slept while work was queued in ~b of ~b runs, and were awake in ~b; ~s",
        [Collapsed, length(Runs), Clear, example(Verdict, Runs)]
    ),
    io:format("~nVerdict: ~s: ~ts~n", [Verdict, Reason]),
    {Verdict, #{reason => Reason, runs => Runs, options => Recipe}}.

%% The last run that has the overall verdict: the run with schedulers offline, if that one has it.
-spec example(wait_verdict:verdict(), [wait:collapse_run(), ...]) -> io_lib:chars().
example(Verdict, Runs) ->
    Numbered = lists:zip(lists:seq(1, length(Runs)), Runs),
    Like = [One || {_, #{verdict := V}} = One <- Numbered, V =:= Verdict],
    %% Never empty: an inconclusive overall verdict means that at least one run was inconclusive.
    {Number, #{finding := #{reason := Reason}}} = lists:last(Like),
    io_lib:format("run ~b: ~ts", [Number, Reason]).
