%% @private
%% @doc The log server that is flooded. It writes each message to its sink, one at a time.
%%
%% A failed write is counted, and the server goes on. Failures are reported at most once a second.
%% A broken sink is opened again, with at most one try a second; messages that arrive meanwhile
%% count as failed.
-module(msgq_server).

-behaviour(gen_server).

-export([start_link/2, sync/2, report/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-export_type([options/0, id/0]).

-type id() :: none | {Sender :: pos_integer(), Number :: pos_integer()}.
-type options() :: #{
    sink := tailback_sink:spec(),
    message_queue_data => on_heap | off_heap,
    fullsweep_after => non_neg_integer(),
    tally => msgq_tally:tally() | none,
    dam => atom(),
    quiet => boolean()
}.

-record(state, {
    spec :: tailback_sink:spec(),
    sink :: tailback_sink:sink() | broken,
    tally :: msgq_tally:tally() | none,
    quiet :: boolean(),
    written = 0 :: non_neg_integer(),
    failed = 0 :: non_neg_integer(),
    reopened = 0 :: non_neg_integer(),
    last = none :: none | tailback_sink:fault(),
    reported_ms :: integer(),
    tried_ms :: integer()
}).

-define(PAUSE_MS, 1000).
-define(MOST_REPORTED, 1000).

%% @doc Starts the server under a name, linked to the caller. If the sink cannot be opened,
%% returns an error and does not end the caller.
-spec start_link(atom(), options()) ->
    {ok, pid()} | {error, {already_started, pid()} | tailback_sink:fault() | term()}.
start_link(Name, Options) ->
    Ref = make_ref(),
    case gen_server:start_link({local, Name}, ?MODULE, {self(), Ref, Options}, []) of
        {ok, Pid} ->
            {ok, Pid};
        {error, Reason} ->
            {error, Reason};
        ignore ->
            receive
                {Ref, Fault} -> {error, Fault}
            after 0 -> {error, {not_started, <<"log server: did not start">>}}
            end
    end.

%% @doc Waits until the server has handled what is in its mailbox at the call; `Limit' is in
%% milliseconds.
-spec sync(atom() | pid(), timeout()) -> ok | {error, timeout | no_server}.
sync(Server, Limit) -> ask(Server, sync, Limit).

%% @doc What the server did: `written', `failed', `reopened', and the `last' fault or `none'.
-spec report(atom() | pid(), timeout()) -> {ok, map()} | {error, timeout | no_server}.
report(Server, Limit) -> ask(Server, report, Limit).

ask(Server, Request, Limit) ->
    try
        gen_server:call(Server, Request, Limit)
    catch
        exit:{timeout, _} -> {error, timeout};
        exit:_ -> {error, no_server}
    end.

%% @private
-spec init({pid(), reference(), options()}) -> {ok, #state{}} | ignore.
init({Starter, Ref, #{sink := Spec} = Options}) ->
    %% A sink that dies must not end the server.
    _ = process_flag(trap_exit, true),
    Server = self(),
    _ = spawn(fun() -> keep(Starter, Server) end),
    _ = [process_flag(Flag, V) || Flag <- flags(), V <- [maps:get(Flag, Options, none)], V =/= none],
    case tailback_sink:open(Spec) of
        {ok, Sink} ->
            _ = [tailback_dam:accept_urgent(Dam) || #{dam := Dam} <- [Options]],
            Long = erlang:monotonic_time(millisecond) - ?PAUSE_MS,
            {ok, #state{
                spec = Spec,
                sink = Sink,
                tally = maps:get(tally, Options, none),
                quiet = maps:get(quiet, Options, false),
                reported_ms = Long,
                tried_ms = Long
            }};
        {error, Fault} ->
            %% Exiting with a reason would end linked processes. So it reports the fault and exits
            %% normally.
            Starter ! {Ref, Fault},
            ignore
    end.

%% The exit of the starter is one more message in the mailbox. A flooded server would reach it
%% hours later. So the server gets a second to end in order, and is then killed.
keep(Starter, Server) ->
    Of = monitor(process, Starter),
    With = monitor(process, Server),
    receive
        {'DOWN', With, process, _, _} ->
            true;
        {'DOWN', Of, process, _, _} ->
            receive
                {'DOWN', With, process, _, _} -> true
            after ?PAUSE_MS -> exit(Server, kill)
            end
    end.

flags() -> [message_queue_data, fullsweep_after].

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call(sync, _, State) ->
    {reply, ok, State};
handle_call(report, _, #state{written = W, failed = F, reopened = R, last = Last} = State) ->
    {reply, {ok, #{written => W, failed => F, reopened => R, last => Last}}, State};
handle_call(_, _, State) ->
    {reply, {error, unknown_request}, State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({log, Id, Data}, State) ->
    {noreply, log(Id, Data, State)};
handle_cast(_, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(_, State) ->
    %% Late answers of a sink that was given up, and exit messages of what belonged to it.
    {noreply, State}.

%% @private
-spec terminate(term(), #state{}) -> ok.
terminate(Reason, State) ->
    ok = close(State),
    case Reason of
        normal -> ok;
        shutdown -> ok;
        {shutdown, _} -> ok;
        _ -> end_unreported(process_info(self(), message_queue_len))
    end.

%% The report on a process that ends badly copies its mailbox, and may print it. With a flooded
%% mailbox that can bring the machine down.
end_unreported({message_queue_len, N}) when N > ?MOST_REPORTED ->
    true = exit(self(), kill),
    ok;
end_unreported(_) ->
    ok.

close(#state{sink = broken}) ->
    ok;
close(#state{sink = Sink} = State) ->
    case tailback_sink:close(Sink) of
        ok ->
            ok;
        {error, Fault} ->
            _ = report_fault(Fault, State),
            ok
    end.

log(Id, Data, #state{sink = broken} = State) ->
    case reopen(State) of
        #state{sink = broken} = Still -> failed(Id, Still);
        Again -> log(Id, Data, Again)
    end;
log(Id, Data, #state{sink = Sink, written = Written} = State) ->
    case tailback_sink:write(Sink, Data) of
        {ok, Next} ->
            ok = tally(State, Id, written),
            State#state{sink = Next, written = Written + 1};
        {error, Fault, Next} ->
            failed(Id, report_fault(Fault, State#state{sink = Next}));
        {closed, Fault} ->
            Now = erlang:monotonic_time(millisecond),
            failed(Id, report_fault(Fault, State#state{sink = broken, tried_ms = Now}))
    end.

failed(Id, #state{failed = Failed} = State) ->
    ok = tally(State, Id, failed),
    State#state{failed = Failed + 1}.

tally(#state{tally = none}, _, _) -> ok;
tally(_, none, _) -> ok;
tally(#state{tally = Tally}, Id, Outcome) -> msgq_tally:record(Tally, Id, Outcome).

reopen(#state{tried_ms = Tried, spec = Spec, reopened = Reopened} = State) ->
    case erlang:monotonic_time(millisecond) of
        Now when Now - Tried >= ?PAUSE_MS ->
            case tailback_sink:open(Spec) of
                {ok, Sink} -> State#state{sink = Sink, reopened = Reopened + 1};
                {error, Fault} -> report_fault(Fault, State#state{tried_ms = Now})
            end;
        _ ->
            State
    end.

report_fault(Fault, #state{quiet = true} = State) ->
    State#state{last = Fault};
report_fault({_, Line} = Fault, #state{reported_ms = Reported, failed = Failed} = State) ->
    case erlang:monotonic_time(millisecond) of
        Now when Now - Reported >= ?PAUSE_MS ->
            Format = "log server: ~ts; ~b messages not written so far, the next ones are tried again",
            logger:warning(Format, [Line, Failed]),
            State#state{last = Fault, reported_ms = Now};
        _ ->
            State#state{last = Fault}
    end.
