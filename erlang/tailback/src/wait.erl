%% @doc Measures what blocking work does to the schedulers of the Erlang VM.
%%
%% A long call of a NIF, and some long built-in operations, keep their scheduler until they return.
%% Meanwhile the other processes in the run queue of that scheduler wait. And schedulers that are
%% blocked do not wake others that sleep, so CPUs may stay idle while work waits. This module makes
%% such calls on purpose. It reports how long the work took, which schedulers were active, and how
%% long the run queues were.
%%
%% <h2>A first measurement</h2>
%% 20 processes make two native calls of 30 ms each, in which they only sleep:
%%
%% ```
%% 1> {ok, R} = wait:measure(#{mode => nif_sleep, processes => 20, calls => 2, work => 30000}).
%% 2> [maps:get(Key, R) || Key <- [wall_us, ideal_us, lanes]].
%% [1207000,600000.0,2]
%% '''
%%
%% Two schedulers could do this work in 600 ms. It took twice as long: one of them slept all the
%% time (see `scheduler_use' in the result). The same calls on dirty schedulers take about 600 ms:
%%
%% ```
%% 3> {ok, D} = wait:measure(#{mode => nif_dirty, processes => 20, calls => 2, work => 30000}).
%% '''
%%
%% The modes `nif_...' need the native library: {@link tailback_nif:available/0} tells whether it
%% was built. `bignum' blocks a scheduler without it.
%%
%% <h2>Which function to call</h2>
%% <ul>
%% <li>{@link measure/1} prints nothing and returns a map, for programs.</li>
%% <li>{@link run/5} prints lines while it runs, for a shell. {@link run/4} is the same in mode
%%     `md5'.</li>
%% <li>{@link collapse/0} makes several runs in which schedulers may fall asleep while work waits,
%%     and returns a verdict.</li>
%% </ul>
%%
%% In each run one process spawns all others, so all of them start in its run queue. A run changes
%% neither the mailbox, the links and the priority of its caller, nor the flags of the node. It
%% ends when its caller ends.
-module(wait).

-export([run/1, run/4, run/5, measure/1, collapse/0, collapse/1]).
-export_type([mode/0, options/0, result/0, refusal/0, scheduler_use/0, sample/0, run_result/0]).
-export_type([collapse_options/0, collapse_answer/0, collapse_details/0, collapse_run/0]).

-type mode() ::
    md5
    | md5_yield
    | nif_busy
    | nif_busy_charge
    | nif_busy_dirty
    | nif_busy_yield
    | nif_sleep
    | nif_charge
    | nif_dirty
    | nif_yield
    | bignum
    | bignum_yield.
%% What a process does in each of its calls:
%% <ul>
%% <li>`md5': MD5 of a binary; `md5_yield': the same in parts of 64 KiB, with a yield before each
%%     part. These modes need the application crypto.</li>
%% <li>`nif_busy': a NIF that uses CPU time and keeps its scheduler; `nif_busy_charge': the same,
%%     charged as a timeslice at the end; `nif_busy_dirty': on a dirty CPU scheduler;
%%     `nif_busy_yield': in slices of at most a millisecond.</li>
%% <li>`nif_sleep', `nif_charge', `nif_dirty', `nif_yield': the same four forms, but the NIF sleeps
%%     and uses no CPU time.</li>
%% <li>`bignum': one squaring of a large integer, which cannot be interrupted. Its operand is sized
%%     for this machine before the run starts. `bignum_yield': the same work in squarings of at
%%     most about 500 microseconds, with a yield after each.</li>
%% </ul>

-type options() :: #{
    mode => mode(),
    processes => pos_integer(),
    work => non_neg_integer(),
    calls => non_neg_integer(),
    iterations => non_neg_integer(),
    sample_ms => pos_integer(),
    settle_ms => non_neg_integer(),
    tell => tailback_tell:tell()
}.
%% `processes', `work' and `calls' have to be given.
%% <ul>
%% <li>`mode': by default `md5'.</li>
%% <li>`processes': how many processes work.</li>
%% <li>`calls': the number of calls of each process.</li>
%% <li>`work': the work of one call, in bytes for `md5' and `md5_yield', else in microseconds.</li>
%% <li>`iterations': each process counts down from this number after its calls (default 0).</li>
%% <li>`sample_ms': milliseconds between two readings of the run queues (default 20).</li>
%% <li>`settle_ms': milliseconds between the moment at which all processes are ready and the first
%%     go (default 100).</li>
%% <li>`tell': gets `{phase, ready}', `{phase, go}' and `{phase, finished}'.</li>
%% </ul>

-type result() :: #{
    mode := mode(),
    processes := pos_integer(),
    work := non_neg_integer(),
    calls := non_neg_integer(),
    iterations := non_neg_integer(),
    call_us := float(),
    iterations_us := float(),
    ideal_us := float(),
    lanes := pos_integer(),
    lane_kind := normal | dirty_cpu,
    schedulers_online := pos_integer(),
    dirty_cpu_online := pos_integer(),
    first_go_us := integer(),
    sent_us := non_neg_integer(),
    wall_us := non_neg_integer(),
    run_times_us := [non_neg_integer(), ...],
    finish_us := [non_neg_integer(), ...],
    scheduler_use := [scheduler_use()],
    run_queues := [sample()],
    class_counts := #{wait_balance:class() => non_neg_integer()}
}.
%% The options, and what was measured. Times are in microseconds.
%% <ul>
%% <li>`wall_us': from the first go to the end of the last process.</li>
%% <li>`ideal_us': the time of the run if every scheduler that can run its calls worked all the
%%     time. It is the number of processes divided by `lanes', rounded up, times the cost of one
%%     process. A reference and no bound: the costs of MD5, squarings and counting were measured
%%     once.</li>
%% <li>`lanes', `lane_kind': how many schedulers of which kind can run the calls at once. If a call
%%     needs a CPU, no more than there are CPUs.</li>
%% <li>`call_us', `iterations_us': the cost of one call, and of counting down.</li>
%% <li>`run_times_us': from the start of each process to its end. `finish_us': from the first go to
%%     the end of each process. Both are in the order in which the processes were spawned.</li>
%% <li>`first_go_us': when the first go was sent, since 1970. `sent_us': from then until all were
%%     sent.</li>
%% <li>`run_queues': the samples; at most 10,000, then every other one is dropped. When the
%%     scheduler of the sampling process is blocked, samples are missing. `class_counts': how many
%%     samples were of which class.</li>
%% <li>`schedulers_online', `dirty_cpu_online': as the VM has it.</li>
%% </ul>

-type scheduler_use() :: #{
    id := pos_integer(),
    kind := normal | dirty_cpu | dirty_io,
    active_us := non_neg_integer(),
    total_us := non_neg_integer()
}.
%% Wall-clock time in which a scheduler had work, and that of the whole run, in microseconds. A
%% scheduler counts as active while its thread waits for a CPU.

-type sample() :: {
    AtUs :: non_neg_integer(),
    Normal :: [non_neg_integer(), ...],
    DirtyCpu :: non_neg_integer(),
    DirtyIo :: non_neg_integer()
}.
%% Microseconds since the first go, and the lengths of the run queues: one for each normal
%% scheduler online, one for each kind of dirty scheduler.

-type refusal() :: {error, {Kind :: atom(), Line :: binary()}}.
%% Why a run was not made or was broken off: a name to match on, and a line to read.

-type run_result() :: {
    RunTimes :: [Seconds :: float()],
    SchedulerUse :: [{SchedulerId :: pos_integer(), Percent :: float()}]
}.
%% What {@link run/5} returns.

-type collapse_options() :: #{
    preset => short | original,
    mode => mode(),
    processes => pos_integer(),
    work => non_neg_integer(),
    calls => non_neg_integer(),
    iterations => non_neg_integer(),
    runs => non_neg_integer(),
    pause_ms => non_neg_integer(),
    online => pos_integer()
}.
%% <ul>
%% <li>`preset' sets the defaults of the other options. `short', the default, takes less than half
%%     a minute. `original' is the recipe as published: 400 processes, 1100 times MD5 of 1 MiB,
%%     eight runs, pauses of 12 s. It takes a quarter of an hour and more.</li>
%% <li>`mode', `processes', `work', `calls', `iterations': see {@link options()}.</li>
%% <li>`runs': the number of runs before the last one. `pause_ms': the pause after each.</li>
%% <li>`online': how many schedulers stay online for the last run (default: half, rounded up).</li>
%% </ul>

-type collapse_answer() :: {wait_verdict:verdict(), collapse_details()} | refusal().
%% The verdict, with what it is based on.

-type collapse_details() :: #{
    reason := binary(), runs := [collapse_run(), ...], options := map()
}.
%% The reason in one line, all runs, and all options with their defaults.

-type collapse_run() :: #{
    verdict := wait_verdict:verdict(),
    finding := wait_verdict:finding(),
    schedulers_online := pos_integer(),
    wall_us := non_neg_integer(),
    ideal_us := float(),
    shortest_us := non_neg_integer(),
    longest_us := non_neg_integer(),
    active_percent := [float()]
}.
%% One run: its verdict, its time, the shortest and the longest time of its processes, and how much
%% of the run each scheduler was active.

%% As in the original: the pause after all workers are ready, and the time between two samples of
%% the run queues.
-define(SETTLE_MS, 1000).
-define(SAMPLE_MS, 500).

%% @doc As {@link run/4}, with arguments from a command line, optionally after a mode.
%%
%% ```
%% erl -pa ebin -run wait run 400 1048576 20 5
%% erl -pa ebin -run wait run nif_sleep 20 30000 2 0
%% '''
-spec run([string() | atom() | binary() | integer()]) -> run_result() | refusal().
run(Arguments) ->
    case wait_options:from_strings(Arguments) of
        {ok, Options} -> print_run(Options);
        {error, Refusal} -> refuse(Refusal)
    end.

%% @doc As {@link run/5}, in mode `md5'.
-spec run(
    N :: pos_integer(), W :: non_neg_integer(), R :: non_neg_integer(), BW :: non_neg_integer()
) -> run_result() | refusal().
run(N, W, R, BW) ->
    run(md5, N, W, R, BW).

%% @doc Runs, prints what happens, and returns the run times and the scheduler use.
%%
%% `N' processes each make `R' calls with work `W' (in bytes or microseconds, depending on the
%% mode), and then count down from `BW' in Erlang:
%%
%% ```
%% 1> wait:run(nif_sleep, 20, 30000, 2, 0).
%% '''
%%
%% A run time is the wall-clock time in seconds from the moment at which a process takes its
%% `go' message to the moment at which it has finished. The run times are in the order in which the
%% processes were spawned. The use covers all normal schedulers, offline ones too, over the whole
%% run. A line about the run queues of the online schedulers is printed when their class or ratio
%% differs from 500 ms earlier; see {@link wait_balance}. If the run is refused, the reason is
%% printed in one line.
-spec run(
    mode(),
    N :: pos_integer(),
    W :: non_neg_integer(),
    R :: non_neg_integer(),
    BW :: non_neg_integer()
) -> run_result() | refusal().
run(Mode, N, W, R, BW) ->
    print_run(#{mode => Mode, processes => N, work => W, calls => R, iterations => BW}).

%% @doc Measures a run and prints nothing.
%%
%% {@link options()} lists the options, {@link result()} the keys of the result.
-spec measure(options()) -> {ok, result()} | refusal().
measure(Options) ->
    case wait_options:check(Options) of
        {ok, #{tell := none} = Plan} -> wait_trial:run(Plan, fun(_) -> ok end);
        {ok, #{tell := Tell} = Plan} -> wait_trial:run(Plan, fun(Event) -> tell(Tell, Event) end);
        Refusal -> Refusal
    end.

%% @doc As {@link collapse/1} with its defaults.
-spec collapse() -> collapse_answer().
collapse() ->
    collapse(#{}).

%% @doc Tries to make schedulers fall asleep while work is queued, and returns whether they did.
%%
%% Some runs with pauses between them come first. Then some of the schedulers go offline for a last
%% run, and come back however it ends. The verdict is `collapse', `no_collapse' or `inconclusive';
%% {@link wait_verdict} says when it is which. Prints what it does.
-spec collapse(collapse_options()) -> collapse_answer().
collapse(Options) ->
    case wait_collapse:run(Options) of
        {error, Refusal} -> refuse(Refusal);
        Answer -> Answer
    end.

-spec tell(tailback_tell:tell(), wait_trial:event()) -> ok.
tell(Tell, Event) when Event =:= ready; Event =:= go; Event =:= finished ->
    tailback_tell:tell(Tell, {phase, Event});
tell(_, _) ->
    ok.

-spec print_run(map()) -> run_result() | refusal().
print_run(Options) ->
    case wait_options:check(Options#{settle_ms => ?SETTLE_MS, sample_ms => ?SAMPLE_MS}) of
        {ok, #{mode := Mode} = Plan} ->
            Kind = wait_modes:kind(Mode),
            print_result(wait_trial:run(Plan, fun(Event) -> wait_lines:print(Event, Kind) end));
        {error, Refusal} ->
            refuse(Refusal)
    end.

-spec print_result({ok, result()} | refusal()) -> run_result() | refusal().
print_result({ok, #{run_times_us := RunTimes, scheduler_use := Use, lane_kind := Kind}}) ->
    Normal = percents(Use, normal),
    ok = wait_lines:use(Normal, [Percent || Kind =:= dirty_cpu, Percent <- percents(Use, dirty_cpu)]),
    {[Us / 1000000 || Us <- RunTimes], Normal};
print_result({error, Refusal}) ->
    refuse(Refusal).

-spec percents([scheduler_use()], wait_schedulers:kind()) -> [{pos_integer(), float()}].
percents(Use, Kind) ->
    [{Id, wait_schedulers:percent(One)} || #{id := Id, kind := K} = One <- Use, K =:= Kind].

-spec refuse({atom(), binary()}) -> refusal().
refuse(Refusal) ->
    ok = wait_lines:refusal(Refusal),
    {error, Refusal}.
