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
%% A cost that was measured over this long is trusted to be scaled up.
-define(PROBE_US, 50000).
-define(SEED, 20121015).
-define(ROUNDS, 4).
-define(TOLERANCE, 0.1).
%% Beyond it some releases refuse the square, with 2^22 bits as their limit.
-define(MAX_BITS, 2097000).

%% @doc The size of operand, in bits, whose square takes about `Us' microseconds here, with what it
%% is expected to take.
%%
%% The size is doubled until a square takes as long as asked for, or long enough to be extrapolated
%% with the growth of the last doubling (4 for schoolbook multiplication, 3 for Karatsuba's).
-spec calibrate(Us :: number()) -> {ok, Bits :: pos_integer(), Us :: float()} | {error, binary()}.
calibrate(Us) when Us > 0 ->
    double(Us, ?FIRST_BITS, cost(?FIRST_BITS), 4.0).

%% @doc The digits of an operand of that many bits, rounded up to bytes: the same on each call, and
%% without a pattern, since OTP 27 and later square all ones a hundred times faster than other
%% numbers. They can be shared by many processes, which an integer cannot.
-spec digits(Bits :: pos_integer()) -> digits().
digits(Bits) ->
    {Bytes, _} = rand:bytes_s((Bits + 7) div 8 - 1, rand:seed_s(exsss, ?SEED)),
    <<255, Bytes/binary>>.

%% @doc The integer that has these digits.
-spec operand(digits()) -> non_neg_integer().
operand(Digits) ->
    binary:decode_unsigned(Digits).

%% @doc Squares an integer once. The comparison keeps the compiler from leaving the product out.
-spec square(integer()) -> ok.
square(Operand) ->
    true = Operand * Operand >= 0,
    ok.

%% @doc What a process that squares an operand needs at most, in bytes: the operand, its square, and
%% both again while garbage is collected.
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

%% Scales, and measures again, until it is near enough; a long square is not waited for.
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
