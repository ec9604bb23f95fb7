%% Native functions that hold a scheduler: one sleeps, one computes.
-module(nap).
-export([nap/1, burn/1]).
-on_load(load/0).

load() -> erlang:load_nif("./nap", 0).

nap(_Us) -> erlang:nif_error(none).
burn(_Us) -> erlang:nif_error(none).
