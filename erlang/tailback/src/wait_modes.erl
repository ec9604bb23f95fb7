%% @private
%% @doc The kinds of call that a worker can make, and what one call costs on this machine.
-module(wait_modes).

-export([all/0, is_mode/1, max_work/1, needs_nif/1, needs_crypto/1, kind/1, needs_cpu/1]).
-export([prepare/2, call/1, operand_bytes/1]).
-export_type([job/0]).

%% One call, ready to be made. Every worker gets a copy of it.
-opaque job() ::
    {md5, [binary()]}
    | {nif, native(), non_neg_integer()}
    | {squares, wait_bignum:digits(), Times :: non_neg_integer()}.

-type native() ::
    busy
    | busy_charge
    | busy_dirty
    | busy_yield
    | sleep
    | sleep_charge
    | sleep_dirty
    | sleep_yield.

%% Bytes of one part: about a hundred microseconds of work.
-define(MD5_PART, 65536).
-define(SQUARE_SLICE_US, 500).
-define(MD5_MAX, 1073741824).
-define(MAX_US, 600000000).

%% @doc Every mode.
-spec all() -> [wait:mode(), ...].
all() ->
    [
        md5, md5_yield,
        nif_busy, nif_busy_charge, nif_busy_dirty, nif_busy_yield,
        nif_sleep, nif_charge, nif_dirty, nif_yield,
        bignum, bignum_yield
    ].

%% @doc Whether a term names a mode.
-spec is_mode(term()) -> boolean().
is_mode(Term) -> lists:member(Term, all()).

%% @doc The most work that one call may have: in bytes for the MD5 modes, else in microseconds.
-spec max_work(wait:mode()) -> pos_integer().
max_work(Mode) when Mode =:= md5; Mode =:= md5_yield -> ?MD5_MAX;
max_work(_) -> ?MAX_US.

%% @doc Whether the mode calls the native library.
-spec needs_nif(wait:mode()) -> boolean().
needs_nif(Mode) -> native(Mode) =/= none.

%% @doc Whether the mode calls the crypto application.
-spec needs_crypto(wait:mode()) -> boolean().
needs_crypto(Mode) -> Mode =:= md5 orelse Mode =:= md5_yield.

%% @doc The kind of scheduler that the calls run on.
-spec kind(wait:mode()) -> normal | dirty_cpu.
kind(Mode) when Mode =:= nif_dirty; Mode =:= nif_busy_dirty -> dirty_cpu;
kind(_) -> normal.

%% @doc Whether the calls need a CPU for as long as they last.
-spec needs_cpu(wait:mode()) -> boolean().
needs_cpu(Mode) -> not lists:member(Mode, [nif_sleep, nif_charge, nif_dirty, nif_yield]).

%% @doc Prepares a call. Returns it with its cost in microseconds if nothing disturbs it: the
%% requested time in the NIF modes, measured once in the other modes.
-spec prepare(wait:mode(), Work :: non_neg_integer()) ->
    {ok, job(), CallUs :: float()} | {error, {atom(), binary()}}.
prepare(md5, Bytes) -> prepare_md5([bytes(Bytes)]);
prepare(md5_yield, Bytes) -> prepare_md5(parts(bytes(Bytes)));
prepare(bignum, Us) -> prepare_squares(Us, 1);
%% At least two squarings, or a short call would have nothing to yield between.
prepare(bignum_yield, Us) -> prepare_squares(Us, max(2, ceil(Us / ?SQUARE_SLICE_US)));
prepare(Mode, Us) -> {ok, {nif, native(Mode), Us}, float(Us)}.

%% @doc A fun that makes the call. The operand of a squaring is made here, so the spawn does not
%% copy it.
-spec call(job()) -> fun(() -> any()).
call({md5, [Bytes]}) ->
    fun() -> crypto:hash_final(crypto:hash_update(crypto:hash_init(md5), Bytes)) end;
call({md5, Parts}) ->
    fun() -> crypto:hash_final(lists:foldl(fun yield_and_update/2, crypto:hash_init(md5), Parts)) end;
call({nif, Function, Us}) ->
    fun() -> tailback_nif:Function(Us) end;
call({squares, _Digits, 0}) ->
    fun() -> ok end;
call({squares, Digits, 1}) ->
    Operand = wait_bignum:operand(Digits),
    fun() -> wait_bignum:square(Operand) end;
call({squares, Digits, Times}) ->
    Operand = wait_bignum:operand(Digits),
    fun() -> squares(Operand, Times) end.

%% @doc Most memory that a worker needs for its own operands and results, in bytes.
-spec operand_bytes(job()) -> non_neg_integer().
operand_bytes({squares, Digits, _}) -> wait_bignum:memory(Digits);
operand_bytes(_) -> 0.

-spec native(wait:mode()) -> none | native().
native(nif_busy) -> busy;
native(nif_busy_charge) -> busy_charge;
native(nif_busy_dirty) -> busy_dirty;
native(nif_busy_yield) -> busy_yield;
native(nif_sleep) -> sleep;
native(nif_charge) -> sleep_charge;
native(nif_dirty) -> sleep_dirty;
native(nif_yield) -> sleep_yield;
native(_) -> none.

-spec prepare_md5([binary()]) -> {ok, job(), float()} | {error, {atom(), binary()}}.
prepare_md5(Parts) ->
    Job = {md5, Parts},
    try wait_clock:best_us(call(Job)) of
        Us -> {ok, Job, Us}
    catch
        %% A crypto library in FIPS mode has no MD5.
        error:Reason -> {error, {md5_refused, wait_text:line("crypto refuses MD5: ~0p", [Reason])}}
    end.

-spec prepare_squares(non_neg_integer(), non_neg_integer()) ->
    {ok, job(), float()} | {error, {atom(), binary()}}.
prepare_squares(0, _) ->
    {ok, {squares, <<>>, 0}, 0.0};
prepare_squares(Us, Times) ->
    case wait_bignum:calibrate(Us / Times) of
        {ok, Bits, SquareUs} ->
            {ok, {squares, wait_bignum:digits(Bits), Times}, SquareUs * Times};
        {error, Reason} -> {error, {work_too_large, Reason}}
    end.

-spec bytes(non_neg_integer()) -> binary().
bytes(Count) -> binary:copy(<<16#5a>>, Count).

-spec parts(binary()) -> [binary()].
parts(<<Part:?MD5_PART/binary, Rest/binary>>) -> [Part | parts(Rest)];
parts(Rest) -> [Rest].

-spec yield_and_update(binary(), crypto:hash_state()) -> crypto:hash_state().
yield_and_update(Part, State) ->
    true = erlang:yield(),
    crypto:hash_update(State, Part).

-spec squares(integer(), non_neg_integer()) -> ok.
squares(_Operand, 0) ->
    ok;
squares(Operand, Times) ->
    ok = wait_bignum:square(Operand),
    true = erlang:yield(),
    squares(Operand, Times - 1).
