%% @doc Native work, in forms that are good and forms that are bad for the schedulers.
%%
%% Every function takes microseconds, from 0 to 600,000,000 (ten minutes), and fails with `badarg'
%% for any other argument. `busy' uses CPU time of its thread; `sleep' lets wall-clock time pass.
%%
%% <ul>
%% <li>`busy/1', `sleep/1': in one piece on the scheduler of the caller, with no reductions
%%     charged. This is the fault to be shown: a NIF should return within a millisecond.</li>
%% <li>`busy_charge/1', `sleep_charge/1': the same, charged as a timeslice at the end.</li>
%% <li>`busy_dirty/1', `sleep_dirty/1': the first form, on a dirty CPU scheduler.</li>
%% <li>`busy_yield/1', `sleep_yield/1': in slices of at most a millisecond. After each slice the
%%     process goes back to the run queue.</li>
%% </ul>
%%
%% The library is `priv/tailback_nif.so' beside the `ebin' folder of this module, or the file that
%% the environment variable `TAILBACK_NIF' names (a path without `.so'). If the library cannot be
%% loaded, the module is loaded anyway. Then {@link available/0} returns the reason, and the work
%% functions fail with `{not_loaded, ...}'.
-module(tailback_nif).

-export([available/0]).
-export([busy/1, sleep/1, busy_charge/1, sleep_charge/1]).
-export([busy_dirty/1, sleep_dirty/1, busy_yield/1, sleep_yield/1]).

-on_load(on_load/0).
-nifs([loaded/0, busy/1, sleep/1, busy_charge/1, sleep_charge/1]).
-nifs([busy_dirty/1, sleep_dirty/1, busy_yield/1, sleep_yield/1]).

%% @doc Whether the native functions can be called. If not, returns the reason in one line.
%%
%% A missing library is looked for again, so it may be built while the node runs.
-spec available() -> true | {false, Reason :: binary()}.
available() ->
    try
        loaded()
    catch
        error:{not_loaded, ?MODULE} -> load()
    end.

%% @doc Uses `Us' microseconds of CPU time and keeps the scheduler.
-spec busy(Us :: non_neg_integer()) -> ok.
busy(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Sleeps `Us' microseconds and keeps the scheduler.
-spec sleep(Us :: non_neg_integer()) -> ok.
sleep(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Uses `Us' microseconds of CPU time, keeps the scheduler, and is charged a timeslice for
%% it.
-spec busy_charge(Us :: non_neg_integer()) -> ok.
busy_charge(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Sleeps `Us' microseconds, keeps the scheduler, and is charged a timeslice for it.
-spec sleep_charge(Us :: non_neg_integer()) -> ok.
sleep_charge(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Uses `Us' microseconds of CPU time on a dirty CPU scheduler.
-spec busy_dirty(Us :: non_neg_integer()) -> ok.
busy_dirty(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Sleeps `Us' microseconds on a dirty CPU scheduler.
-spec sleep_dirty(Us :: non_neg_integer()) -> ok.
sleep_dirty(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Uses `Us' microseconds of CPU time, yielding after each millisecond.
-spec busy_yield(Us :: non_neg_integer()) -> ok.
busy_yield(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

%% @doc Sleeps `Us' microseconds, yielding after each millisecond.
-spec sleep_yield(Us :: non_neg_integer()) -> ok.
sleep_yield(_Us) -> erlang:nif_error({not_loaded, ?MODULE}).

-spec loaded() -> true.
loaded() -> erlang:nif_error({not_loaded, ?MODULE}).

%% Always returns ok: a module that refuses to load could not say why.
-spec on_load() -> ok.
on_load() ->
    _ = load(),
    ok.

-spec load() -> true | {false, binary()}.
load() ->
    case path() of
        {ok, Path} -> load(Path);
        {error, Reason} -> {false, Reason}
    end.

-spec load(file:filename()) -> true | {false, binary()}.
load(Path) ->
    case filelib:is_regular(Path ++ ".so") of
        true ->
            case erlang:load_nif(Path, 0) of
                ok -> true;
                %% Another process loaded it since the call of loaded/0.
                {error, {reload, _}} -> true;
                {error, {_Kind, Words}} -> {false, refused(Path, Words)}
            end;
        false ->
            {false, missing(Path)}
    end.

-spec path() -> {ok, file:filename()} | {error, binary()}.
path() ->
    case {os:getenv("TAILBACK_NIF"), code:which(?MODULE)} of
        {Named, _} when is_list(Named), Named =/= "" ->
            {ok, Named};
        {_, [_ | _] = Beam} ->
            Application = filename:dirname(filename:dirname(filename:absname(Beam))),
            {ok, filename:join([Application, "priv", "tailback_nif"])};
        _ ->
            {error, <<"tailback_nif was not loaded from a file; name its library in TAILBACK_NIF">>}
    end.

-spec refused(file:filename(), string()) -> binary().
refused(Path, Words) ->
    line("~ts.so: refused by the VM: ~ts", [Path, Words]).

%% If the build could not make the library, it left its reason in a file.
-spec missing(file:filename()) -> binary().
missing(Path) ->
    case file:read_file(Path ++ ".why") of
        {ok, Why} when byte_size(Why) > 0, byte_size(Why) < 1000 -> line("~ts", [Why]);
        _ -> line("~ts.so: no such file; run make in the erlang folder, or set TAILBACK_NIF", [Path])
    end.

-spec line(io:format(), [term()]) -> binary().
line(Format, Args) ->
    Text = unicode:characters_to_binary(io_lib:format(Format, Args)),
    string:trim(binary:replace(Text, [<<"\n">>, <<"\r">>], <<" ">>, [global])).
