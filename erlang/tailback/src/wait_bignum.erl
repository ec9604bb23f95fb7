%% @private
%% @doc Squaring of large integers: a built-in operation that the VM cannot interrupt.
%%
%% It blocks its scheduler as a NIF does, on every node and without a compiler. Unlike a NIF it
%% charges reductions.
-module(wait_bignum).

-export([calibrate/1, digits/1, operand/1, square/1, memory/1]).
-export_type([digits/0]).

%% An operand as bytes, most significant first.
-type digits() :: binary().

-define(FIRST_BITS, 512).
%% A cost measured over at least this time may be extrapolated.
-define(PROBE_US, 50000).
-define(SEED, 20121015).
-define(ROUNDS, 4).
-define(TOLERANCE, 0.1).
%% Above this size some releases refuse the square: their limit is 2^22 bits.
-define(MAX_BITS, 2097000).

%% @doc The operand size, in bits, whose square takes about `Us' microseconds on this machine, and
%% the expected time of that square.
%%
%% The size is doubled until a square takes the requested time, or long enough to extrapolate. The
%% extrapolation uses the growth of the last doubling (4 for schoolbook multiplication, 3 for
%% Karatsuba's).
-spec calibrate(Us :: number()) -> {ok, Bits :: pos_integer(), Us :: float()} | {error, binary()}.
calibrate(Us) when Us > 0 ->
    double(Us, ?FIRST_BITS, cost(?FIRST_BITS), 4.0).

%% @doc The digits of an operand of `Bits' bits, rounded up to bytes. They are the same on each
%% call and have no pattern, since OTP 27 and later square all ones a hundred times faster than
%% other numbers. Many processes can share the digits, but not an integer.
-spec digits(Bits :: pos_integer()) -> digits().
digits(Bits) ->
    {Bytes, _} = rand:bytes_s((Bits + 7) div 8 - 1, rand:seed_s(exsss, ?SEED)),
    <<255, Bytes/binary>>.

%% @doc The integer that has these digits.
-spec operand(digits()) -> non_neg_integer().
operand(Digits) ->
    binary:decode_unsigned(Digits).

%% @doc Squares an integer once. The comparison prevents the compiler from removing the product.
-spec square(integer()) -> ok.
square(Operand) ->
    true = Operand * Operand >= 0,
    ok.

%% @doc Most memory that a process needs to square an operand, in bytes: the operand and its
%% square, and both again during a garbage collection.
-spec memory(digits()) -> non_neg_integer().
memory(Digits) ->
    6 * byte_size(Digits).

-spec double(number(), pos_integer(), float(), float()) ->
    {ok, pos_integer(), float()} | {error, binary()}.
double(Us, Bits, Cost, Growth) when Cost >= Us; Cost >= ?PROBE_US ->
    settle(Us, Bits, Cost, Growth, ?ROUNDS);
double(Us, Bits, _Cost, _Growth) when Bits * 2 > ?MAX_BITS ->
    too_long(Us);
double(Us, Bits, Cost, _Growth) ->
    Next = cost(Bits * 2),
    double(Us, Bits * 2, Next, growth(Cost, Next)).

-spec growth(float(), float()) -> float().
growth(Cost, Next) when Cost > 0.0 -> min(4.0, max(2.0, Next / Cost));
growth(_, _) -> 4.0.

-spec scaled(number(), pos_integer(), float(), float()) -> pos_integer().
scaled(_Us, Bits, Cost, _Growth) when Cost =< 0.0 -> Bits;
scaled(Us, Bits, Cost, Growth) -> max(1, round(Bits * math:pow(Us / Cost, 1 / math:log2(Growth)))).

%% Scales the size and measures again until the cost is near enough. A long square is not
%% measured.
-spec settle(number(), pos_integer(), float(), float(), non_neg_integer()) ->
    {ok, pos_integer(), float()} | {error, binary()}.
settle(Us, Bits, Cost, _Growth, Rounds) when
    Rounds =:= 0; abs(Cost - Us) =< ?TOLERANCE * Us
->
    {ok, Bits, Cost};
settle(Us, Bits, Cost, Growth, Rounds) ->
    case scaled(Us, Bits, Cost, Growth) of
        Scaled when Scaled > ?MAX_BITS -> too_long(Us);
        Scaled when Us > ?PROBE_US -> {ok, Scaled, float(Us)};
        Scaled -> settle(Us, Scaled, cost(Scaled), Growth, Rounds - 1)
    end.

-spec too_long(number()) -> {error, binary()}.
too_long(Us) ->
    {error,
        wait_text:line("work: no integer of the VM takes ~p us to square; ask for less", [round(Us)])}.

-spec cost(pos_integer()) -> float().
cost(Bits) ->
    Operand = operand(digits(Bits)),
    wait_clock:best_us(fun() -> square(Operand) end).
