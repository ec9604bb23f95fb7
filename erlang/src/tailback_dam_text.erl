%% @doc One line of text for a person.
-module(tailback_dam_text).

-export([line/2]).

%% @doc Formats one line; what would break it becomes a blank. Text that is not valid Unicode is
%% shown by its bytes.
-spec line(io:format(), [term()]) -> binary().
line(Format, Args) ->
    Text = io_lib:format(Format, Args),
    case unicode:characters_to_binary(string:replace(Text, "\n", " ", all)) of
        Line when is_binary(Line) -> Line;
        _ -> iolist_to_binary(io_lib:format("~0p", [Args]))
    end.
