%% @private
%% @doc The samples of a trial, limited in number. At the limit every second sample is dropped,
%% and from then on only every second new sample is kept. The high-water marks cover all samples.
%% Pure.
-module(msgq_samples).

-export([new/1, add/2, result/1]).

-export_type([samples/0, sample/0]).

-type sample() :: #{at_us | server | dam | held | memory := non_neg_integer()}.
-record(samples, {
    every_ms :: pos_integer(),
    kept = [] :: [sample()],
    count = 0 :: non_neg_integer(),
    stride = 1 :: pos_integer(),
    seen = 0 :: non_neg_integer(),
    high = #{server => 0, dam => 0, held => 0, both => 0, memory => 0} :: #{
        atom() => non_neg_integer()
    }
}).

-opaque samples() :: #samples{}.

-define(MOST, 20000).

%% @doc No samples yet; one is expected every `EveryMs' milliseconds.
-spec new(pos_integer()) -> samples().
new(EveryMs) -> #samples{every_ms = EveryMs}.

%% @doc Adds one sample.
-spec add(sample(), samples()) -> samples().
add(Sample, #samples{seen = Seen, stride = Stride, high = High} = Samples) ->
    #{server := Server, dam := Dam} = Sample,
    All = Sample#{both => Server + Dam},
    Marked = Samples#samples{
        seen = Seen + 1,
        high = maps:map(fun(Key, Old) -> max(Old, maps:get(Key, All)) end, High)
    },
    case Seen rem Stride of
        0 -> keep(Sample, Marked);
        _ -> Marked
    end.

keep(Sample, #samples{kept = Kept, count = Count, stride = Stride} = Samples) when Count >= ?MOST ->
    Half = every_second(Kept),
    Samples#samples{kept = [Sample | Half], count = length(Half) + 1, stride = 2 * Stride};
keep(Sample, #samples{kept = Kept, count = Count} = Samples) ->
    Samples#samples{kept = [Sample | Kept], count = Count + 1}.

%% Drops the newest one too: it directly precedes the sample that is about to be kept.
every_second([_, Sample | Rest]) -> [Sample | every_second(Rest)];
every_second(_) -> [].

%% @doc The series as `{AtUs, Length}', and the high-water marks. `held' counts the messages in
%% the table of a credit dam, those handed over without a confirmation, and those of waiting
%% senders.
-spec result(samples()) -> map().
result(#samples{kept = Kept, high = High, seen = Seen, every_ms = Every, stride = Stride}) ->
    Ordered = lists:reverse(Kept),
    Series = fun(Key) -> [{At, maps:get(Key, S)} || #{at_us := At} = S <- Ordered] end,
    #{
        server_queue => Series(server),
        dam_queue => Series(dam),
        dam_held => Series(held),
        server_queue_high => maps:get(server, High),
        dam_queue_high => maps:get(dam, High),
        both_queues_high => maps:get(both, High),
        dam_held_high => maps:get(held, High),
        memory_bytes => maps:get(memory, High),
        samples => Seen,
        sample_ms => Every * Stride
    }.
