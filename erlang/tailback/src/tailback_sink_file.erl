%% @private
%% @doc Writes to a file, with every combination of options that the original tried, or to
%% /dev/null.
%%
%% The original's collapse came from `raw'. Until OTP 20 a raw file was a port, and a selective
%% receive went through the whole mailbox for its answer. Since OTP 21 a raw file is a NIF, and no
%% option shows the collapse any more.
-module(tailback_sink_file).

-behaviour(tailback_sink).

-export([open/1, write/2, close/1]).

-record(file, {path :: file:name_all(), io :: file:io_device()}).

%% @private
-spec open(tailback_sink:spec()) -> {ok, #file{}} | {error, tailback_sink:fault()}.
open(null) ->
    open({file, "/dev/null", [append, raw, delayed_write]});
open({file, Path, Options}) ->
    %% Without append the file would be emptied, and somebody may still need its content.
    Modes = lists:usort([append, binary | Options]),
    case file:open(Path, Modes) of
        {ok, Io} -> {ok, #file{path = Path, io = Io}};
        {error, Why} -> {error, fault("open", Path, Why)}
    end.

%% @private
-spec write(#file{}, iodata()) ->
    {ok, #file{}} | {error, tailback_sink:fault(), #file{}} | {closed, tailback_sink:fault()}.
write(#file{io = Io, path = Path} = File, Data) ->
    case file:write(Io, Data) of
        ok -> {ok, File};
        {error, Why} when Why =:= terminated; Why =:= einval -> {closed, fault("write", Path, Why)};
        {error, Why} -> {error, fault("write", Path, Why), File}
    end.

%% @private
-spec close(#file{}) -> ok | {error, tailback_sink:fault()}.
close(#file{io = Io, path = Path}) ->
    case file:close(Io) of
        ok -> ok;
        {error, Why} -> {error, fault("close", Path, Why)}
    end.

-spec fault(string(), file:name_all(), atom()) -> tailback_sink:fault().
fault(What, Path, Why) ->
    Because = [file:format_error(Why), "; ", next(Why)],
    {Why, tailback_sink:error_line(["file ", What], Path, Because)}.

-spec next(atom()) -> string().
next(enospc) -> "make room, or write elsewhere";
next(edquot) -> "make room, or write elsewhere";
next(_) -> "name a file that can be written".
