%% @private
%% @doc One-line messages.
-module(wait_text).

-export([line/2]).

%% @doc Formats a message into one line.
-spec line(io:format(), [term()]) -> binary().
line(Format, Args) ->
    Text = unicode:characters_to_binary(io_lib:format(Format, Args)),
    binary:replace(Text, [<<"\n">>, <<"\r">>], <<" ">>, [global]).
