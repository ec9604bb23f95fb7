%% Captures what a function prints.
-module(test_printed).

-export([by/1]).

%% Returns the answer of the function, and the lines that it and its processes printed.
by(Function) ->
    Leader = group_leader(),
    Listener = spawn_link(fun() -> listen([]) end),
    true = group_leader(Listener, self()),
    try Function() of
        Answer -> {Answer, lines(Listener)}
    after
        group_leader(Leader, self())
    end.

lines(Listener) ->
    Listener ! {text, self()},
    receive
        {Listener, Text} -> string:split(Text, "\n", all)
    end.

listen(Heard) ->
    receive
        {io_request, From, ReplyAs, Request} ->
            From ! {io_reply, ReplyAs, ok},
            listen([Heard, text(Request)]);
        {text, From} ->
            From ! {self(), unicode:characters_to_list(Heard)}
    end.

text({put_chars, _, Text}) -> Text;
text({put_chars, _, Module, Function, Args}) -> apply(Module, Function, Args).
