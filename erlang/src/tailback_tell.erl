%% @doc Where news goes: a fun of one argument, or `{Module, Function}'.
%%
%% The second form is a plain term, so that a program outside the VM can name it in a call.
-module(tailback_tell).

-export([is_tell/1, tell/2]).
-export_type([tell/0]).

-type tell() :: fun((term()) -> any()) | {module(), atom()}.

%% @doc Whether a term can be told anything.
-spec is_tell(term()) -> boolean().
is_tell(Fun) when is_function(Fun, 1) -> true;
is_tell({Module, Function}) when is_atom(Module), is_atom(Function) -> true;
is_tell(_) -> false.

%% @doc Tells a piece of news; what the hearer answers is of no interest.
-spec tell(tell(), term()) -> ok.
tell({Module, Function}, News) ->
    _ = Module:Function(News),
    ok;
tell(Fun, News) ->
    _ = Fun(News),
    ok.
