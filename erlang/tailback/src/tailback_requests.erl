%% @private
%% @doc A load of requests that arrive at a set rate, whether or not earlier requests are done.
%%
%% Each worker has its own arrivals. They are a Poisson process on a grid of milliseconds, since
%% the timers of the VM have no finer one. The latency of a request counts from the moment at
%% which it was due, so waiting behind a slow request is not hidden. A request that was due but
%% not made by the end has waited at least until the end. It is listed separately.
%%
%% Processes of low priority do background work meanwhile.
%%
%% Preparations cost CPU time, which may use up a quota of the VM. So there may be a rest before
%% the first request, and `tell' gets `ready' after that rest.
-module(tailback_requests).

-export([run/1]).
-export_type([options/0, result/0]).

%% `rate' is in requests a second, of all workers together. `dir' is the folder for the files of
%% kind `file'; these files have no name once they are open.
-type options() :: #{
    kind := tailback_request:kind(),
    workers := pos_integer(),
    rate := pos_integer(),
    duration_ms := pos_integer(),
    background => non_neg_integer(),
    settle_ms => non_neg_integer(),
    tell => tailback_tell:tell(),
    seed => non_neg_integer(),
    dir => binary() | string()
}.

%% Latencies are unsigned 32-bit big-endian integers in microseconds. `unfinished' holds those of
%% requests that were not made by the end, each a lower bound.
-type result() :: #{
    wall_us := pos_integer(),
    due := non_neg_integer(),
    latencies := binary(),
    unfinished := binary(),
    failed := non_neg_integer(),
    background_pieces := non_neg_integer(),
    scheduler_use := [wait:scheduler_use()]
}.

-define(MAX_WORKERS, 100000).
-define(MAX_REQUESTS, 20000000).
-define(MAX_US, 16#ffffffff).
%% How long after the end a worker may take to report.
-define(PATIENCE_MS, 60000).

-record(worker, {
    parent :: pid(),
    request :: tailback_request:request(),
    start = 0 :: integer(),
    until = 0 :: integer(),
    mean_ms :: float(),
    done = [] :: [binary()],
    failed = 0 :: non_neg_integer()
}).

%% @doc Runs the load for its duration.
-spec run(options()) -> {ok, result()} | {error, {atom(), binary()}}.
run(Options) ->
    case refusal(Options) of
        none -> perform(Options);
        Why -> {error, {bad_option, iolist_to_binary(Why)}}
    end.

-spec refusal(map()) -> none | iolist().
refusal(#{kind := Kind, workers := Workers, rate := Rate, duration_ms := Duration}) ->
    Positive = fun(Number) -> is_integer(Number) andalso Number > 0 end,
    Sound = lists:all(Positive, [Workers, Rate, Duration]),
    case lists:member(Kind, tailback_request:kinds()) of
        false ->
            io_lib:format("kind: ~0tp is none of ~0tp", [Kind, tailback_request:kinds()]);
        true when not Sound ->
            "workers, rate and duration_ms: whole numbers above 0";
        true when Workers > ?MAX_WORKERS; Rate * Duration div 1000 > ?MAX_REQUESTS ->
            io_lib:format(
                "at most ~b workers and ~b requests in all", [?MAX_WORKERS, ?MAX_REQUESTS]
            );
        true ->
            none
    end;
refusal(_) ->
    "kind, workers, rate and duration_ms are needed".

-spec perform(options()) -> {ok, result()} | {error, {atom(), binary()}}.
perform(#{workers := Count} = Options) ->
    Self = self(),
    ok = wait_schedulers:watch_use(),
    Pids = [spawn_monitor(fun() -> prepare(Self, N, Options) end) || N <- lists:seq(1, Count)],
    Answer =
        case await_ready(Pids) of
            ok -> {ok, rested(Pids, Options)};
            {error, Why} -> stop_all(Pids, Why)
        end,
    ok = wait_schedulers:unwatch_use(),
    Answer.

%% Ends all workers, and removes their messages from the mailbox.
-spec stop_all([{pid(), reference()}], binary()) -> {error, {atom(), binary()}}.
stop_all(Pids, Why) ->
    _ = [exit(Pid, kill) || {Pid, _} <- Pids],
    _ = [true = erlang:demonitor(Monitor, [flush]) || {_, Monitor} <- Pids],
    ok = lists:foreach(fun gone/1, Pids),
    {error, {no_request, Why}}.

-spec gone({pid(), reference()}) -> ok.
gone({Pid, _}) ->
    Monitor = erlang:monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, Pid, _} -> forget(Pid)
    end.

-spec forget(pid()) -> ok.
forget(Pid) ->
    receive
        {ready, Pid} -> forget(Pid);
        {refused, Pid, _} -> forget(Pid)
    after 0 -> ok
    end.

-spec await_ready([{pid(), reference()}]) -> ok | {error, binary()}.
await_ready([]) ->
    ok;
await_ready([{Pid, Monitor} | Rest]) ->
    receive
        {ready, Pid} -> await_ready(Rest);
        {refused, Pid, Why} -> {error, Why};
        {'DOWN', Monitor, process, Pid, Reason} ->
            {error, iolist_to_binary(io_lib:format("~0tP", [Reason, 20]))}
    end.

-spec rested([{pid(), reference()}], options()) -> result().
rested(Pids, Options) ->
    ok = timer:sleep(maps:get(settle_ms, Options, 0)),
    ok = tailback_tell:tell(maps:get(tell, Options, fun(_) -> ok end), ready),
    measure(Pids, Options).

-spec measure([{pid(), reference()}], options()) -> result().
measure(Pids, #{workers := Count, rate := Rate, duration_ms := Duration} = Options) ->
    Background = tailback_background:start(maps:get(background, Options, 0)),
    Before = wait_schedulers:use_now(),
    Since = erlang:monotonic_time(),
    Start = erlang:monotonic_time(millisecond) + 2,
    _ = [Pid ! {go, Start, Start + Duration} || {Pid, _} <- Pids],
    Share = max(1, Rate * Duration div (1000 * Count)),
    Parts = [part(Pid, Monitor, Duration, Share) || {Pid, Monitor} <- Pids],
    Wall = max(1, erlang:monotonic_time(millisecond) - Start),
    Use = wait_schedulers:use(Before, Since, wait_schedulers:use_now()),
    Pieces = tailback_background:stop(Background),
    Latencies = [Done || {Done, _, _} <- Parts],
    Unfinished = [Left || {_, Left, _} <- Parts],
    #{
        wall_us => Wall * 1000,
        due => (iolist_size(Latencies) + iolist_size(Unfinished)) div 4,
        latencies => iolist_to_binary(Latencies),
        unfinished => iolist_to_binary(Unfinished),
        failed => lists:sum([Failed || {_, _, Failed} <- Parts]),
        background_pieces => Pieces,
        scheduler_use => Use
    }.

%% The figures of a worker. A worker that does not report is killed, and its figures are lost. Then
%% as many requests count as failed as are due for each worker on average: its `Share'.
-spec part(pid(), reference(), pos_integer(), Share :: pos_integer()) ->
    {iolist(), iolist(), non_neg_integer()}.
part(Pid, Monitor, Duration, Share) ->
    receive
        {done, Pid, Done, Left, Failed} ->
            true = erlang:demonitor(Monitor, [flush]),
            {Done, Left, Failed};
        {'DOWN', Monitor, process, Pid, _} ->
            {[], [], Share}
    after Duration + ?PATIENCE_MS ->
        exit(Pid, kill),
        {[], [], Share}
    end.

%%% A worker

-spec prepare(pid(), pos_integer(), options()) -> ok.
prepare(Parent, Number, #{kind := Kind, workers := Workers, rate := Rate} = Options) ->
    _ = rand:seed(exsss, {maps:get(seed, Options, 0), Number, 1}),
    case tailback_request:open(Kind, maps:get(dir, Options, ".")) of
        {ok, Request} ->
            Parent ! {ready, self()},
            Mean = 1000 * Workers / Rate,
            await_go(#worker{parent = Parent, request = Request, mean_ms = Mean});
        {error, Why} ->
            Parent ! {refused, self(), Why},
            ok
    end.

-spec await_go(#worker{}) -> ok.
await_go(Worker) ->
    receive
        {go, Start, Until} ->
            First = Start + gap(Worker#worker.mean_ms),
            work(First, Worker#worker{start = Start, until = Until})
    end.

%% Serves the request that is due at `Due', a real number of milliseconds.
-spec work(float(), #worker{}) -> ok.
work(Due, #worker{until = Until} = Worker) when Due >= Until ->
    leave([], Worker);
work(Due, #worker{until = Until, mean_ms = Mean} = Worker) ->
    ok = wait_until(ceil(Due)),
    case erlang:monotonic_time(millisecond) >= Until of
        true ->
            leave(unfinished(Due, Worker), Worker);
        false ->
            Served = serve(ceil(Due), Worker),
            work(Due + gap(Mean), Served)
    end.

-spec serve(integer(), #worker{}) -> #worker{}.
serve(DueMs, #worker{request = Request, done = Done, failed = Failed} = Worker) ->
    case tailback_request:make(Request) of
        ok ->
            Latency = erlang:monotonic_time(microsecond) - DueMs * 1000,
            Worker#worker{done = [<<(min(Latency, ?MAX_US)):32>> | Done]};
        error ->
            Worker#worker{failed = Failed + 1}
    end.

%% Requests that were due before the end and never made: each has waited until the end.
-spec unfinished(float(), #worker{}) -> [binary()].
unfinished(Due, #worker{until = Until}) when Due >= Until ->
    [];
unfinished(Due, #worker{until = Until, mean_ms = Mean} = Worker) ->
    Waited = max(0, Until - ceil(Due)) * 1000,
    [<<(min(Waited, ?MAX_US)):32>> | unfinished(Due + gap(Mean), Worker)].

-spec leave([binary()], #worker{}) -> ok.
leave(Left, #worker{parent = Parent, request = Request, done = Done, failed = Failed}) ->
    ok = tailback_request:close(Request),
    Parent ! {done, self(), Done, Left, Failed},
    ok.

-spec wait_until(integer()) -> ok.
wait_until(Ms) ->
    case Ms - erlang:monotonic_time(millisecond) of
        Left when Left > 0 ->
            Timer = erlang:start_timer(Ms, self(), due, [{abs, true}]),
            receive
                {timeout, Timer, due} -> ok
            end;
        _ ->
            ok
    end.

%% Time to the next arrival of a Poisson process, in milliseconds.
-spec gap(float()) -> float().
gap(Mean) ->
    -Mean * math:log(1.0 - rand:uniform()).
