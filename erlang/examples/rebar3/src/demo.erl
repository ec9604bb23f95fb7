%% What tailback does in a project: the dam, and the two modules that measure.
-module(demo).

-export([run/0]).

%% Prints a line for each, and fails if a figure is wrong.
run() ->
    {ok, _} = application:ensure_all_started(demo),
    dam(),
    schedulers(),
    mailbox(),
    {ok, Version} = application:get_key(tailback, vsn),
    io:format("demo: ok, tailback ~s on OTP ~s~n", [Version, erlang:system_info(otp_release)]).

%% Ten processes send 100 lines each. They wait while the dam has no room.
dam() ->
    Send = fun() -> [ok = tailback_dam:cast(line_dam, {line, N}) || N <- lists:seq(1, 100)] end,
    Monitors = [spawn_monitor(Send) || _ <- lists:seq(1, 10)],
    [receive {'DOWN', Monitor, process, Pid, normal} -> ok end || {Pid, Monitor} <- Monitors],
    ok = tailback_dam:flush(line_dam),
    1000 = line_server:count(),
    {ok, #{server_mailbox_high := High}} = tailback_dam:info(line_dam),
    io:format("dam: 1000 lines, at most ~b in the mailbox of the server~n", [High]).

%% Blocks the schedulers with calls of 2 ms. The native library needs a C compiler to build.
schedulers() ->
    Mode =
        case tailback_nif:available() of
            true ->
                nif_busy;
            {false, Why} ->
                io:format("no native library: ~ts~n", [Why]),
                bignum
        end,
    {ok, #{wall_us := Wall, ideal_us := Ideal}} =
        wait:measure(#{mode => Mode, processes => 4, calls => 2, work => 2000}),
    io:format("wait: mode ~s took ~b us, ideally ~b us~n", [Mode, Wall, round(Ideal)]).

%% Floods a server, without a dam and with one.
mailbox() ->
    [
        begin
            {ok, #{outcome := drained, drained := 400, server_queue_high := High}} =
                msgq_flood:measure(#{dam => Dam, senders => 4, messages => 100}),
            io:format("msgq_flood: dam ~s: at most ~b messages waited~n", [Dam, High])
        end
     || Dam <- [none, credit]
    ].
