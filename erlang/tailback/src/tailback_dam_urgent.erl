%% @private
%% @doc Priority messages, where the VM has them (OTP 28 and later).
%%
%% The options are built at run time and passed as plain terms. So this module compiles, and can
%% be checked, on releases that do not know them.
-module(tailback_dam_urgent).

-export([accept/1, send/3]).

%% @doc Makes a priority alias for the calling process and sends it to the dam.
-spec accept(atom()) -> ok | unsupported.
accept(Name) ->
    try apply(erlang, alias, [priority()]) of
        Alias -> gen_server:cast(Name, {urgent, self(), Alias})
    catch
        error:_ -> unsupported
    end.

%% @doc Sends a message ahead of what is in the mailbox of the process that made the alias.
-spec send(pid(), reference() | none, term()) -> ok.
send(Pid, none, Message) ->
    Pid ! Message,
    ok;
send(_, Alias, Message) ->
    _ = apply(erlang, send, [Alias, Message, priority()]),
    ok.

-spec priority() -> list().
priority() -> [list_to_atom("priority")].
