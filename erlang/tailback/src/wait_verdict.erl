%% @doc Whether schedulers slept while work was queued. Pure.
%%
%% Of one run the following is known: when each of the `N' workers finished, how long each of the
%% `S' online schedulers that can run their calls was active, and the ideal time of the run.
%%
%% <ol>
%% <li>The <em>queued time</em> `Q' runs from the last go to the moment at which `N - S' workers
%%     have finished. Until then more workers than schedulers are unfinished, and a worker is
%%     always ready to run. So there is work for every scheduler.</li>
%% <li>A scheduler that was active for `A' in the whole run was active for at most `A' of the
%%     queued time. So it was asleep for at least `Q - A' of it. The <em>asleep share</em> is the
%%     sum of this over all schedulers, divided by `S * Q'. It is a lower bound.</li>
%% <li>`collapse': the asleep share is at least 25%, the busiest scheduler was active for at least
%%     80% of the queued time, and the run took at least 1.25 times its ideal.</li>
%% <li>`no_collapse': the asleep share is below 10%.</li>
%% <li>`inconclusive': everything else, above all a single scheduler, work that never queued, and
%%     a queued time below 50 ms.</li>
%% </ol>
%%
%% Active time is wall-clock time in which the scheduler had work. A scheduler thread that waits
%% for a CPU counts as active, so a shortage of CPU time makes no difference.
-module(wait_verdict).

-export([judge/1, overall/1]).
-export_type([verdict/0, finding/0, facts/0]).

-type verdict() :: collapse | no_collapse | inconclusive.

%% The part of {@link wait:result()} that is judged.
-type facts() :: #{
    lanes_online := pos_integer(),
    sent_us := non_neg_integer(),
    wall_us := non_neg_integer(),
    ideal_us := number(),
    finish_us := [non_neg_integer(), ...],
    %% One value for each online scheduler that can run the calls.
    active_us := [non_neg_integer()]
}.

%% Shares are from 0 to 1. A value that could not be computed is left out.
-type finding() :: #{
    reason := binary(),
    queued_us => non_neg_integer(),
    asleep_share => float(),
    busiest_share => float(),
    slowdown => float()
}.

-define(LEAST_QUEUED_US, 50000).
-define(ASLEEP, 0.25).
-define(AWAKE, 0.10).
-define(BUSIEST, 0.80).
-define(SLOWDOWN, 1.25).

%% @doc The verdict on one run, with the figures behind it.
-spec judge(facts()) -> {verdict(), finding()}.
judge(#{lanes_online := 1}) ->
    inconclusive("one scheduler was online: there is no other that could have slept", []);
judge(#{lanes_online := Lanes, finish_us := Finishes}) when length(Finishes) =< Lanes ->
    inconclusive("~b processes never queued for ~b schedulers: use more processes", [
        length(Finishes), Lanes
    ]);
judge(#{lanes_online := Lanes, finish_us := Finishes, sent_us := Sent} = Facts) ->
    LastQueued = lists:nth(length(Finishes) - Lanes, lists:sort(Finishes)),
    case LastQueued - Sent of
        Queued when Queued < ?LEAST_QUEUED_US ->
            inconclusive("work was queued for less than ~b ms: use more work, calls or processes", [
                ?LEAST_QUEUED_US div 1000
            ]);
        Queued ->
            conclude(shares(Queued, Facts))
    end.

%% @doc The verdict on a recipe of several runs: `collapse' if any run collapsed; `no_collapse' if
%% none did and at least half of the runs have that verdict.
-spec overall([verdict()]) -> verdict().
overall(Verdicts) ->
    Clear = length([clear || no_collapse <- Verdicts]),
    case lists:member(collapse, Verdicts) of
        true -> collapse;
        false when Clear > 0, 2 * Clear >= length(Verdicts) -> no_collapse;
        false -> inconclusive
    end.

-spec inconclusive(io:format(), [term()]) -> {inconclusive, finding()}.
inconclusive(Format, Args) ->
    {inconclusive, #{reason => wait_text:line(Format, Args)}}.

-spec shares(pos_integer(), facts()) -> map().
shares(Queued, #{active_us := Active, wall_us := Wall, ideal_us := Ideal}) ->
    Asleep = lists:sum([max(0, Queued - One) || One <- Active]),
    #{
        queued_us => Queued,
        asleep_share => Asleep / (Queued * max(1, length(Active))),
        busiest_share => min(1.0, lists:max([0 | Active]) / Queued),
        slowdown => Wall / max(1, Ideal)
    }.

-spec conclude(map()) -> {verdict(), finding()}.
conclude(#{asleep_share := Asleep, busiest_share := Busiest, slowdown := Slowdown} = Shares) ->
    {Verdict, Why} =
        if
            Asleep < ?AWAKE ->
                {no_collapse, "schedulers were awake while work was queued"};
            Asleep < ?ASLEEP ->
                {inconclusive, "schedulers slept for some of the time in which work was queued"};
            Busiest < ?BUSIEST ->
                {inconclusive, "no scheduler was busy all the while: something else held up the work"};
            Slowdown < ?SLOWDOWN ->
                {inconclusive, "schedulers slept, but the run took no longer than it had to"};
            true ->
                {collapse, "schedulers slept while work was queued"}
        end,
    Reason = wait_text:line(
        "~s (asleep for ~b% of it, the busiest active for ~b%; ~.2f times the ideal)",
        [Why, round(100 * Asleep), round(100 * Busiest), float(Slowdown)]
    ),
    {Verdict, Shares#{reason => Reason}}.
