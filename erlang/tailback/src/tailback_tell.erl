%% @doc A receiver of events: a fun of one argument, or `{Module, Function}'.
%%
%% The second form is a plain term, so that a program outside the VM can name it in a call.
-module(tailback_tell).

-export([is_tell/1, tell/2]).
-export_type([tell/0]).

-type tell() :: fun((term()) -> any()) | {module(), atom()}.

%% @doc Whether a term is a receiver.
-spec is_tell(term()) -> boolean().
is_tell(Fun) when is_function(Fun, 1) -> true;
is_tell({Module, Function}) when is_atom(Module), is_atom(Function) -> true;
is_tell(_) -> false.

%% @doc Calls a receiver with an event; its answer is ignored.
-spec tell(tell(), term()) -> ok.
tell({Module, Function}, Event) ->
    _ = Module:Function(Event),
    ok;
tell(Fun, Event) ->
    _ = Fun(Event),
    ok.
