%% A node in a control group gets ?QUOTA_US of CPU time in each ?PERIOD_US. It serves ?RATE
%% requests per second, which arrive even if earlier ones are not done. In the control, its
%% schedulers do not spin while they wait for work. A trial finds the latency that 1 of 100
%% requests exceeds. Latency is measured in milliseconds from the time at which a request was due.

set_up(Keeper, _) -> make_group(Keeper, ?QUOTA_US, ?PERIOD_US).

trial(_, Block) ->
    Self = self(),
    Start = fun(Number) -> spawn_link(fun() -> worker(Self, Block, Number) end) end,
    Workers = lists:map(Start, lists:seq(1, ?WORKERS)),
    _ = [receive {ready, Worker} -> ok end || Worker <- Workers],
    %% Starting the node uses quota. The load must not be throttled for that.
    ok = timer:sleep(?SETTLE_MS),
    Low = [link, {priority, low}],
    _ = [spawn_opt(fun background/0, Low) || _ <- lists:seq(1, ?BACKGROUND)],
    From = erlang:monotonic_time(millisecond) + 2,
    _ = [Worker ! {go, From, From + ?DURATION_MS} || Worker <- Workers],
    All = lists:append([receive {done, Worker, Found} -> Found end || Worker <- Workers]),
    case length(All) of
        0 -> broken("no request was due", []);
        N -> lists:nth(ceil(0.99 * N), lists:sort(All)) / 1000
    end.

%% The arrivals are the same in both trials of a block.
worker(Owner, Block, Number) ->
    _ = rand:seed(exsss, {?SEED rem 16#3ffffffffffffff, Block, Number}),
    Request = open(?LOAD),
    Owner ! {ready, self()},
    receive
        {go, Start, Until} -> Owner ! {done, self(), serve(Start + gap(), Until, Request, [])}
    end.

%% Time to the next request of a worker, in milliseconds.
gap() -> -1000 * ?WORKERS / ?RATE * math:log(1.0 - rand:uniform()).

%% Latencies in microseconds. A request that was due before the end and is not made counts as
%% waiting until now, which is later than the end.
serve(Due, Until, _, Found) when Due > Until - 1 ->
    Found;
serve(Due, Until, Request, Found) ->
    Turn = ceil(Due),
    ok = wait_until(Turn),
    case erlang:monotonic_time(millisecond) < Until of
        true -> ok = make(Request);
        false -> ok
    end,
    Took = erlang:monotonic_time(microsecond) - Turn * 1000,
    serve(Due + gap(), Until, Request, [Took | Found]).

%% Uses an absolute timer, because a relative one would be late by up to a millisecond.
wait_until(Ms) ->
    Timer = erlang:start_timer(Ms, self(), due, [{abs, true}]),
    receive
        {timeout, Timer, due} -> ok
    end.

open(port) -> open_port({spawn_executable, "/bin/cat"}, [binary, {packet, 2}]);
open(timer) -> timer.

make(timer) ->
    timer:sleep(1);
make(Port) ->
    true = port_command(Port, <<0:2048>>),
    receive
        {Port, {data, _}} -> ok
    end.

%% Uses a small part of a CPU, repeatedly.
background() ->
    ok = turn(200000),
    ok = timer:sleep(10),
    background().

turn(0) -> ok;
turn(Left) -> turn(Left - 1).
