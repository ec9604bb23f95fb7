%% @private
%% @doc Prints how many messages wait, once a second, as the original does.
-module(msgq_watch).

-export([run/3, header/0, line/3]).

-type count() :: non_neg_integer() | none.

%% @doc Prints `Lines' lines about the processes of these names.
-spec run(atom(), atom(), pos_integer() | infinity) -> ok.
run(Dam, Server, Lines) ->
    io:put_chars(header()),
    {D, S} = {waiting(Dam), waiting(Server)},
    io:put_chars(line(now_text(), {D, D}, {S, S})),
    next(Dam, Server, left(Lines), D, S).

next(_, _, 0, _, _) ->
    ok;
next(Dam, Server, Lines, OldD, OldS) ->
    timer:sleep(1000),
    {D, S} = {waiting(Dam), waiting(Server)},
    io:put_chars(line(now_text(), {D, OldD}, {S, OldS})),
    next(Dam, Server, left(Lines), D, S).

left(infinity) -> infinity;
left(Lines) -> Lines - 1.

%% @doc The header line.
-spec header() -> iolist().
header() -> "DateTime\t\t\tdam msgq (diff)\tserver msgq (diff)\n".

%% @doc One line: the time, then the current count and its change, for dam and server.
-spec line(string(), {count(), count()}, {count(), count()}) -> iolist().
line(Time, Dam, Server) -> [Time, $\t, column(Dam), $\t, column(Server), $\n].

-spec column({count(), count()}) -> iolist().
column({none, _}) -> "- (0)";
column({New, none}) -> column({New, New});
column({New, Old}) -> io_lib:format("~b (~b)", [New, New - Old]).

now_text() ->
    calendar:system_time_to_rfc3339(erlang:system_time(millisecond), [
        {unit, millisecond}, {offset, "Z"}
    ]).

%% For a credit dam, counts the messages in its table as well as those in its mailbox.
-spec waiting(atom()) -> count().
waiting(Name) ->
    case {msgq_trial:mailbox(Name), tailback_dam:info(Name)} of
        {none, _} -> none;
        {Mailbox, {ok, #{queued := Queued, waiting := Waiting}}} -> Mailbox + Queued + Waiting;
        {Mailbox, {error, no_dam}} -> Mailbox
    end.
