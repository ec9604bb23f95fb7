-module(wait_online_tests).

-include_lib("eunit/include/eunit.hrl").

%% Runs in separate nodes, since other tests count schedulers. Each node has three, on any
%% machine.
restored_test_() ->
    [
        {Name, {timeout, 300, fun() -> restored(Expected, Function) end}}
     || {Name, Expected, Function} <- [
            {"after an answer", done, fun() -> ok = wait_online:set(1), done end},
            {"after a crash", broken_off, fun() -> ok = wait_online:set(1), exit(crash) end},
            {"after a kill", broken_off, fun() -> ok = wait_online:set(1), exit(self(), kill) end}
        ]
    ].

restored(Expected, Function) ->
    in_node(fun() ->
        Answer =
            case wait_online:restoring(Function) of
                {error, {Kind, _}} -> Kind;
                Other -> Other
            end,
        {Answer, numbers()}
    end, {Expected, {3, 3}}).

restored_when_the_caller_is_gone_test_() ->
    {timeout, 300, fun() -> in_node(fun() -> caller_gone() end, {3, 3}) end}.

caller_gone() ->
    Self = self(),
    Caller = spawn(fun() ->
        wait_online:restoring(fun() ->
            ok = wait_online:set(1),
            Self ! offline,
            timer:sleep(infinity)
        end)
    end),
    receive
        offline -> {1, _} = numbers()
    end,
    exit(Caller, kill),
    until_restored().

until_restored() ->
    case numbers() of
        {3, 3} -> {3, 3};
        _ -> timer:sleep(10), until_restored()
    end.

numbers() ->
    {erlang:system_info(schedulers_online), erlang:system_info(dirty_cpu_schedulers_online)}.

in_node(Function, Expected) ->
    Tests = filename:dirname(filename:absname(code:which(?MODULE))),
    test_vm:with(["+S", "3:3", "+SDcpu", "3:3", "-pa", Tests], fun(Peer) ->
        ?assertEqual(Expected, test_vm:call(Peer, erlang, apply, [Function, []]))
    end).
