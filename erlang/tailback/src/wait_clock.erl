%% @private
%% @doc Timing of short pieces of work, for calibration before a run.
-module(wait_clock).

-export([best_us/1, us/1, busy_wait/1, busy_wait_us/1]).

%% Time for all samples of one call, so that slow calls get fewer samples.
-define(BUDGET_US, 150000).
-define(SAMPLES, 5).
-define(BUSY_SAMPLE, 1000000).

%% @doc The shortest of up to five timings of a call, in microseconds. A disturbance only makes a
%% call longer, so the shortest timing is nearest to its cost.
-spec best_us(fun(() -> any())) -> float().
best_us(Call) ->
    best_us(Call, ?SAMPLES - 1, ?BUDGET_US, us(Call)).

-spec best_us(fun(() -> any()), non_neg_integer(), number(), float()) -> float().
best_us(Call, Left, Budget, Best) when Left > 0, Best < Budget ->
    Us = us(Call),
    best_us(Call, Left - 1, Budget - Us, min(Us, Best));
best_us(_, _, _, Best) ->
    Best.

%% @doc How long one call takes, in microseconds.
-spec us(fun(() -> any())) -> float().
us(Call) ->
    Start = erlang:monotonic_time(),
    _ = Call(),
    erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond) / 1000.

%% @doc Counts down from `Iterations': work in pure Erlang, which the VM can interrupt.
-spec busy_wait(non_neg_integer()) -> ok.
busy_wait(0) -> ok;
busy_wait(Iterations) -> busy_wait(Iterations - 1).

%% @doc The cost of {@link busy_wait/1} in microseconds, measured with at most a million
%% iterations.
-spec busy_wait_us(non_neg_integer()) -> float().
busy_wait_us(Iterations) when Iterations =< ?BUSY_SAMPLE ->
    best_us(fun() -> busy_wait(Iterations) end);
busy_wait_us(Iterations) ->
    busy_wait_us(?BUSY_SAMPLE) * Iterations / ?BUSY_SAMPLE.
