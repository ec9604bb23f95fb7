%% @private
%% @doc The worker of quota-blind in Erlang. It starts a process for each request. For the parts
%% of a job it starts as many processes as there are schedulers online.
%%
%% It reads "r ID ROUNDS", a request, and "b ID PARTS ROUNDS", a job of PARTS parts. It answers
%% "ID" when that is done.
-module(tailback_worker).
-export([start/0]).

-spec start() -> no_return().
start() ->
    Port = erlang:open_port({fd, 0, 1}, [{line, 1024}, binary, eof]),
    Online = integer_to_binary(erlang:system_info(schedulers_online)),
    erlang:port_command(Port, [<<"ready ">>, Online, $\s, version(), $\n]),
    serve(Port).

%% The OTP version, or the OTP release if the version file cannot be read.
-spec version() -> binary().
version() ->
    Release = erlang:system_info(otp_release),
    case file:read_file(filename:join([code:root_dir(), "releases", Release, "OTP_VERSION"])) of
        {ok, Text} -> string:trim(Text);
        {error, _} -> list_to_binary(Release)
    end.

-spec serve(port()) -> no_return().
serve(Port) ->
    receive
        {Port, {data, {eol, Line}}} ->
            _ = order(binary:split(Line, <<" ">>, [global])),
            serve(Port);
        {Port, {data, {noeol, _}}} ->
            serve(Port);
        {Port, eof} ->
            erlang:halt(0);
        {done, Id} ->
            erlang:port_command(Port, [Id, $\n]),
            serve(Port)
    end.

-spec order([binary()]) -> pid() | ok.
order([<<"r">>, Id, Rounds]) ->
    Count = binary_to_integer(Rounds),
    Server = self(),
    spawn(fun() -> work(Count, 1), Server ! {done, Id} end);
order([<<"b">>, Id, Parts, Rounds]) ->
    Count = binary_to_integer(Rounds),
    Server = self(),
    Total = binary_to_integer(Parts),
    spawn(fun() -> job(Total, Count), Server ! {done, Id} end);
order(_) ->
    ok.

%% Shares the parts of a job among as many processes as there are schedulers online.
-spec job(non_neg_integer(), non_neg_integer()) -> ok.
job(Total, Count) ->
    Taken = atomics:new(1, []),
    Workers = [
        spawn_monitor(fun() -> parts(Taken, Total, Count) end)
     || _ <- lists:seq(1, erlang:system_info(schedulers_online))
    ],
    lists:foreach(
        fun({Pid, Ref}) -> receive {'DOWN', Ref, process, Pid, _} -> ok end end,
        Workers
    ).

-spec parts(atomics:atomics_ref(), non_neg_integer(), non_neg_integer()) -> ok.
parts(Taken, Total, Count) ->
    case atomics:add_get(Taken, 1, 1) =< Total of
        true ->
            work(Count, 1),
            parts(Taken, Total, Count);
        false ->
            ok
    end.

-spec work(non_neg_integer(), non_neg_integer()) -> non_neg_integer().
work(0, Value) ->
    Value;
work(Rounds, Value) ->
    work(Rounds - 1, (Value * 1103515245 + Rounds) band 16#7fffffff).
