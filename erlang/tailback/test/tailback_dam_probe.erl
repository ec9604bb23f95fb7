%% @doc A server for tests. It notes what it gets in a table that outlives it, stops at a gate,
%% and crashes on demand.
-module(tailback_dam_probe).

-behaviour(gen_server).

-include_lib("stdlib/include/assert.hrl").

-define(DAM, dam_under_test).
-define(CAPACITY, 8).

-export([new/0, start/1, start/2, kill/1, open_gate/1, seen/1]).
-export([with/2, end_process/1, info/1, until/1, gates/1, sender/1, answer/1, fill/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

new() -> ets:new(seen, [ordered_set, public]).

start(Seen) -> start(probe, Seen).

start(Name, Seen) ->
    {ok, Pid} = gen_server:start({local, Name}, ?MODULE, Seen, []),
    Pid.

kill(Name) ->
    Pid = whereis(Name),
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    after 100000 -> error(still_alive)
    end.

open_gate(Pid) -> Pid ! open.

seen(Seen) -> [Message || {_, Message} <- ets:tab2list(Seen)].

init(Seen) -> {ok, Seen}.

handle_call({accept_urgent, Dam}, _, Seen) ->
    {reply, tailback_dam:accept_urgent(Dam), Seen};
handle_call({slow, Ms}, _, Seen) ->
    timer:sleep(Ms),
    {reply, ok, Seen};
handle_call(_, _, Seen) ->
    {reply, ok, Seen}.

handle_cast(gate, Seen) ->
    note(gate, Seen),
    receive
        open -> ok
    end,
    {noreply, Seen};
handle_cast({slow, Ms} = Message, Seen) ->
    note(Message, Seen),
    timer:sleep(Ms),
    {noreply, Seen};
handle_cast(poison, _) ->
    exit(poisoned_by_test);
handle_cast({stop, Reason}, Seen) ->
    {stop, Reason, Seen};
handle_cast(Message, Seen) ->
    note(Message, Seen),
    {noreply, Seen}.

handle_info(Message, Seen) ->
    note({info, Message}, Seen),
    {noreply, Seen}.

note(Message, Seen) ->
    ets:insert(Seen, {erlang:unique_integer([monotonic]), Message}).

%% ---- shared by the tests of the dam

dam(Options) ->
    {ok, Pid} = tailback_dam:start_link(?DAM, probe, Options),
    Pid.

with(Options, Fun) ->
    Seen = new(),
    Server = start(Seen),
    Dam = dam(Options),
    try
        Fun(Seen, Server)
    after
        end_process(Dam),
        end_process(whereis(probe)),
        ets:delete(Seen)
    end.

end_process(undefined) ->
    ok;
end_process(Pid) ->
    unlink(Pid),
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

info(Key) ->
    {ok, Info} = tailback_dam:info(?DAM),
    maps:get(Key, Info).

until(Condition) -> until(Condition, 20000).

until(Condition, 0) ->
    ?assert(Condition());
until(Condition, Left) ->
    case Condition() of
        true ->
            ok;
        false ->
            timer:sleep(5),
            until(Condition, Left - 1)
    end.

gates(Seen) -> length([gate || gate <- seen(Seen)]).

%% Starts a process that casts a message and reports the answer.
sender(Message) -> sender(Message, infinity).

sender(Message, Timeout) ->
    Test = self(),
    spawn(fun() -> Test ! {self(), tailback_dam:cast(?DAM, Message, Timeout)} end).

answer(Pid) ->
    receive
        {Pid, Answer} -> Answer
    after 100000 -> error({hangs, Pid})
    end.

%% Leaves the server stopped at the gate, four messages in flight, and the table full. Returns how
%% many messages, numbered from 1, were accepted behind the gate.
fill() ->
    [ok = tailback_dam:cast(?DAM, M) || M <- [gate, 1, 2, 3]],
    until(fun() -> info(in_flight) =:= 4 end),
    [ok = tailback_dam:cast(?DAM, N) || N <- lists:seq(4, 3 + ?CAPACITY)],
    ?assertEqual(?CAPACITY, info(queued)),
    3 + ?CAPACITY.
