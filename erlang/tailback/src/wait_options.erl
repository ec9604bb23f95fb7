%% @private
%% @doc Checks the options of a run before anything is started.
-module(wait_options).

-export([check/1, from_strings/1]).
-export_type([plan/0]).

%% Checked options; all keys are present.
-type plan() :: #{
    mode := wait:mode(),
    processes := pos_integer(),
    work := non_neg_integer(),
    calls := non_neg_integer(),
    iterations := non_neg_integer(),
    sample_ms := pos_integer(),
    settle_ms := non_neg_integer(),
    tell := tailback_tell:tell() | none
}.

%% Processes left free for what else the node starts meanwhile.
-define(SPARE_PROCESSES, 64).
%% The highest value that erl +P accepts.
-define(MOST_PROCESSES, 134217727).
-define(HOUR_MS, 3600000).

%% @doc Checks the options and fills in missing ones. An error names the first bad option.
-spec check(term()) -> {ok, plan()} | wait:refusal().
check(Options) when is_map(Options) ->
    Plan = maps:merge(defaults(), Options),
    case first_refusal(checks(Plan), Plan) of
        none -> {ok, Plan};
        Refusal -> {error, Refusal}
    end;
check(Other) ->
    refused(bad_options, "options: ~0tP is no map", [Other, 10]).

%% @doc Reads the arguments of `erl -run' or `erl -s': N, W, R and BW, optionally after a mode.
-spec from_strings([term()]) -> {ok, wait:options()} | wait:refusal().
from_strings([_, _, _, _] = Numbers) ->
    from_strings([md5 | Numbers]);
from_strings([Mode, N, W, R, BW]) ->
    {ok, #{
        mode => mode(Mode),
        processes => number(N),
        work => number(W),
        calls => number(R),
        iterations => number(BW)
    }};
from_strings(Other) ->
    refused(
        bad_arguments,
        "arguments: ~0tP; give processes, work, calls and iterations, optionally after a mode",
        [Other, 20]
    ).

-spec defaults() -> map().
defaults() ->
    #{mode => md5, iterations => 0, sample_ms => 20, settle_ms => 100, tell => none}.

-type check() :: fun((map()) -> none | {atom(), binary()}).

-spec checks(map()) -> [check()].
checks(Plan) ->
    [fun known_keys/1, fun mode_is_known/1] ++
        [whole(Key, Least, Most) || {Key, Least, Most} <- ranges(Plan)] ++
        [fun tell_is_tell/1, fun library_is_there/1, fun processes_fit/1].

-spec ranges(map()) -> [{atom(), non_neg_integer(), pos_integer() | infinity}].
ranges(#{mode := Mode}) ->
    MaxWork =
        case wait_modes:is_mode(Mode) of
            true -> wait_modes:max_work(Mode);
            false -> infinity
        end,
    [
        {processes, 1, infinity},
        {work, 0, MaxWork},
        {calls, 0, infinity},
        {iterations, 0, infinity},
        {sample_ms, 1, ?HOUR_MS},
        {settle_ms, 0, ?HOUR_MS}
    ].

-spec first_refusal([check()], map()) -> none | {atom(), binary()}.
first_refusal([], _Plan) ->
    none;
first_refusal([Check | Checks], Plan) ->
    case Check(Plan) of
        none -> first_refusal(Checks, Plan);
        Refusal -> Refusal
    end.

-spec known_keys(map()) -> none | {atom(), binary()}.
known_keys(Plan) ->
    Known = [mode, processes, work, calls, iterations, sample_ms, settle_ms, tell],
    case maps:keys(maps:without(Known, Plan)) of
        [] -> none;
        [Key | _] -> refusal(bad_options, "options: ~0tP is unknown; known are ~0p", [Key, 10, Known])
    end.

-spec mode_is_known(map()) -> none | {atom(), binary()}.
mode_is_known(#{mode := Mode}) ->
    case wait_modes:is_mode(Mode) of
        true -> none;
        false -> refusal(bad_mode, "mode: ~0tP is unknown; known are ~0p", [Mode, 10, wait_modes:all()])
    end.

-spec whole(atom(), non_neg_integer(), pos_integer() | infinity) -> check().
whole(Key, Least, Most) ->
    fun(Plan) ->
        case Plan of
            %% An integer sorts before any atom, so `infinity' sets no limit.
            #{Key := Value} when is_integer(Value), Value >= Least, Value =< Most -> none;
            #{Key := Value} -> out_of_range(Key, Value, Least, Most);
            #{} -> refusal(kind(Key), "~s: is missing", [Key])
        end
    end.

-spec out_of_range(atom(), term(), non_neg_integer(), pos_integer() | infinity) ->
    {atom(), binary()}.
out_of_range(Key, Value, Least, infinity) ->
    refusal(kind(Key), "~s: ~0tP is refused; give a whole number from ~b", [Key, Value, 10, Least]);
out_of_range(Key, Value, Least, Most) ->
    refusal(kind(Key), "~s: ~0tP is refused; give a whole number from ~b to ~b", [
        Key, Value, 10, Least, Most
    ]).

-spec kind(atom()) -> atom().
kind(processes) -> bad_processes;
kind(work) -> bad_work;
kind(calls) -> bad_calls;
kind(iterations) -> bad_iterations;
kind(_) -> bad_options.

-spec tell_is_tell(map()) -> none | {atom(), binary()}.
tell_is_tell(#{tell := none}) ->
    none;
tell_is_tell(#{tell := Tell}) ->
    case tailback_tell:is_tell(Tell) of
        true -> none;
        false -> refusal(bad_options, "tell: give a fun of one argument or {Module, Function}", [])
    end.

-spec library_is_there(map()) -> none | {atom(), binary()}.
library_is_there(#{mode := Mode}) ->
    case {wait_modes:needs_nif(Mode), wait_modes:needs_crypto(Mode)} of
        {true, _} -> nif_is_there(Mode);
        {_, true} -> crypto_is_there(Mode);
        _ -> none
    end.

-spec nif_is_there(wait:mode()) -> none | {atom(), binary()}.
nif_is_there(Mode) ->
    case tailback_nif:available() of
        true -> none;
        {false, Why} -> refusal(nif_unavailable, "mode ~s: ~ts", [Mode, Why])
    end.

-spec crypto_is_there(wait:mode()) -> none | {atom(), binary()}.
crypto_is_there(Mode) ->
    case code:ensure_loaded(crypto) of
        {module, crypto} ->
            none;
        {error, Why} ->
            refusal(crypto_unavailable, "mode ~s: crypto: ~0p; install it (Debian: erlang-crypto)", [
                Mode, Why
            ])
    end.

-spec processes_fit(map()) -> none | {atom(), binary()}.
processes_fit(#{processes := Count}) ->
    Limit = erlang:system_info(process_limit),
    case Count + erlang:system_info(process_count) + ?SPARE_PROCESSES of
        Needed when Needed =< Limit ->
            none;
        Needed when Needed =< ?MOST_PROCESSES ->
            refusal(
                too_many_processes,
                "processes: ~b do not fit under this node's limit of ~b; start it with erl +P ~b",
                [Count, Limit, Needed]
            );
        _ ->
            refusal(
                too_many_processes,
                "processes: ~b are more than any node takes; erl +P ~b is the most there is",
                [Count, ?MOST_PROCESSES]
            )
    end.

-spec mode(term()) -> term().
mode(Mode) ->
    case [Known || Known <- wait_modes:all(), atom_to_list(Known) =:= string(Mode)] of
        [Known] -> Known;
        [] -> Mode
    end.

%% A term that is no number stays as it is. A later check refuses it by name.
-spec number(term()) -> term().
number(Term) ->
    case string:to_integer(string(Term)) of
        {Number, []} when is_integer(Number) -> Number;
        _ -> Term
    end.

-spec string(term()) -> string().
string(Atom) when is_atom(Atom) -> atom_to_list(Atom);
string(Number) when is_integer(Number) -> integer_to_list(Number);
string(Text) when is_list(Text); is_binary(Text) ->
    case unicode:characters_to_list(Text) of
        String when is_list(String) -> String;
        _ -> ""
    end;
string(_) -> "".

-spec refused(atom(), io:format(), [term()]) -> wait:refusal().
refused(Kind, Format, Args) -> {error, refusal(Kind, Format, Args)}.

-spec refusal(atom(), io:format(), [term()]) -> {atom(), binary()}.
refusal(Kind, Format, Args) -> {Kind, wait_text:line(Format, Args)}.
