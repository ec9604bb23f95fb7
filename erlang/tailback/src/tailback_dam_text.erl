%% @private
%% @doc Formats text into one line, for people to read.
-module(tailback_dam_text).

-export([line/2]).

%% @doc Formats one line; a newline becomes a blank. If the text is not valid Unicode, the line
%% shows the arguments as Erlang terms.
-spec line(io:format(), [term()]) -> binary().
line(Format, Args) ->
    Text = io_lib:format(Format, Args),
    case unicode:characters_to_binary(string:replace(Text, "\n", " ", all)) of
        Line when is_binary(Line) -> Line;
        _ -> iolist_to_binary(io_lib:format("~0p", [Args]))
    end.
