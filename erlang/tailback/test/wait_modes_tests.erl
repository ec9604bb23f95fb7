-module(wait_modes_tests).

-include_lib("eunit/include/eunit.hrl").

%% Work that takes each mode a few milliseconds.
-define(BYTES, 1000000).
-define(US, 3000).

every_mode_runs_test_() ->
    [
        {timeout, 300, {atom_to_list(Mode), fun() -> runs(Mode) end}}
     || Mode <- wait_modes:all()
    ].

runs(Mode) ->
    Asked = #{mode => Mode, processes => 3, work => work(Mode), calls => 2, iterations => 10},
    {ok, Result} = wait:measure(Asked),
    #{run_times_us := RunTimes, finish_us := Finishes, wall_us := Wall, call_us := CallUs} = Result,
    ?assertEqual(3, length(RunTimes)),
    ?assertEqual(lists:max(Finishes), Wall),
    ?assert(CallUs > 0),
    [?assert(Run =< Finish) || {Run, Finish} <- lists:zip(RunTimes, Finishes)],
    %% A call that sleeps or uses CPU time for a fixed time cannot end sooner.
    [?assert(Run >= 2 * ?US) || wait_modes:needs_nif(Mode), Run <- RunTimes].

work(Mode) ->
    case wait_modes:needs_crypto(Mode) of
        true -> ?BYTES;
        false -> ?US
    end.

nothing_to_do_is_allowed_test_() ->
    [
        {timeout, 300, {
            lists:flatten(io_lib:format("~s ~p", [Mode, Change])),
            ?_assertMatch({ok, #{run_times_us := [_, _]}}, wait:measure(maps:merge(Asked, Change)))
        }}
     || Mode <- wait_modes:all(),
        Change <- [#{work => 0}, #{calls => 0}],
        Asked <- [#{mode => Mode, processes => 2, work => 100, calls => 1, settle_ms => 0}]
    ].

both_forms_of_md5_agree_test_() ->
    {timeout, 300, fun both_forms_of_md5_agree/0}.

both_forms_of_md5_agree() ->
    Digests = [
        begin
            {ok, Job, _} = wait_modes:prepare(Mode, ?BYTES),
            (wait_modes:call(Job))()
        end
     || Mode <- [md5, md5_yield]
    ],
    Expected = crypto:hash(md5, binary:copy(<<16#5a>>, ?BYTES)),
    ?assertEqual([Expected, Expected], Digests).

dirty_work_runs_on_dirty_schedulers_test_() ->
    {timeout, 300, fun dirty_work_runs_on_dirty_schedulers/0}.

dirty_work_runs_on_dirty_schedulers() ->
    runs_on(nif_dirty, dirty_cpu, normal).

plain_work_runs_on_normal_schedulers_test_() ->
    {timeout, 300, fun plain_work_runs_on_normal_schedulers/0}.

plain_work_runs_on_normal_schedulers() ->
    runs_on(nif_sleep, normal, dirty_cpu).

%% Active time is time on the clock: it grows while another program has the CPU of a scheduler. So
%% one measurement of three has to show it.
runs_on(Mode, Kind, Other) ->
    ?assert(lists:any(fun(_) -> is_active(Mode, Kind, Other) end, lists:seq(1, 3))).

is_active(Mode, Kind, Other) ->
    {ok, #{scheduler_use := Use, lane_kind := Kind}} =
        wait:measure(#{mode => Mode, processes => 4, work => 20000, calls => 2}),
    ?assert(active(Kind, Use) >= 4 * 2 * 15000),
    active(Kind, Use) > 2 * active(Other, Use).

active(Kind, Use) ->
    lists:sum([Us || #{kind := K, active_us := Us} <- Use, K =:= Kind]).

%% Each slice charges a whole timeslice, so the process is scheduled once for each slice.
yielding_charges_reductions_test_() ->
    {timeout, 300, fun yielding_charges_reductions/0}.

yielding_charges_reductions() ->
    %% The slices take 1 ms, and there are enough of them even if each takes 50 times as long.
    [Plain, Yielding] = [
        begin
            {_, Before} = process_info(self(), reductions),
            ok = tailback_nif:Function(200000),
            {_, After} = process_info(self(), reductions),
            After - Before
        end
     || Function <- [sleep, sleep_yield]
    ],
    ?assert(Plain < 1000),
    ?assert(Yielding > 10 * 1000).

%% A call that is shorter than a slice charges its part of a timeslice, and an empty one the least.
short_calls_that_yield_charge_reductions_test_() ->
    {timeout, 300, fun short_calls_that_yield_charge_reductions/0}.

short_calls_that_yield_charge_reductions() ->
    %% One percent of a timeslice is 40 reductions. A call itself takes only a few.
    [
        begin
            Plain = charged(Plainly, Us, 100),
            Yielding = charged(Yieldingly, Us, 100),
            ?assert(Yielding > Plain + 100 * 20)
        end
     || {Plainly, Yieldingly} <- [{sleep, sleep_yield}, {busy, busy_yield}], Us <- [0, 50, 1000]
    ].

%% A call of less than a slice is squared in two parts, with a yield between them.
short_squarings_yield_test_() ->
    {timeout, 300, fun short_squarings_yield/0}.

short_squarings_yield() ->
    ?assertMatch({ok, {squares, _, 1}, _}, wait_modes:prepare(bignum, 500)),
    [
        ?assertMatch({ok, {squares, _, Times}, _}, wait_modes:prepare(bignum_yield, Us))
     || {Us, Times} <- [{100, 2}, {500, 2}, {1000, 2}, {1001, 3}]
    ].

%% The reductions of this many calls.
charged(Function, Us, Times) ->
    {_, Before} = process_info(self(), reductions),
    ok = lists:foreach(fun(_) -> ok = tailback_nif:Function(Us) end, lists:seq(1, Times)),
    {_, After} = process_info(self(), reductions),
    After - Before.

more_work_needs_a_longer_integer_test_() ->
    {timeout, 300, fun more_work_needs_a_longer_integer/0}.

more_work_needs_a_longer_integer() ->
    {ok, Short, _} = wait_bignum:calibrate(10),
    {ok, Long, _} = wait_bignum:calibrate(5000),
    ?assert(Long > 4 * Short).

work_that_no_integer_takes_is_refused_test_() ->
    {timeout, 300, fun work_that_no_integer_takes_is_refused/0}.

work_that_no_integer_takes_is_refused() ->
    Answer = wait:measure(#{mode => bignum, processes => 1, work => 600000000, calls => 1}),
    ?assertMatch({error, {work_too_large, _}}, Answer).

integers_that_would_fill_the_memory_are_refused_test_() ->
    {timeout, 300, fun integers_that_would_fill_the_memory_are_refused/0}.

integers_that_would_fill_the_memory_are_refused() ->
    Answer = wait:measure(#{mode => bignum, processes => 100000, work => 50000, calls => 1}),
    ?assertMatch({error, {too_much_memory, _}}, Answer).
