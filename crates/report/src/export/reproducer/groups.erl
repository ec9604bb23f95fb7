
%% A control group of this study's own, of version 2 or of version 1.

make_group(Keeper, Quota, Period) ->
    Root = "/sys/fs/cgroup/",
    Name = "stall-" ++ os:getpid(),
    Switch = Root ++ "cgroup.subtree_control",
    case {filelib:is_regular(Root ++ "cgroup.controllers"), filelib:is_dir(Root ++ "cpu")} of
        {true, _} ->
            {ok, On} = file:read_file(Switch),
            _ = [ask(Keeper, "switch", Switch) || not lists:member("cpu", words(On))],
            "" = ask(Keeper, "group", Root ++ Name),
            set(Root ++ Name ++ "/cpu.max", io_lib:format("~b ~b", [Quota, Period])),
            [Root ++ Name];
        {false, true} ->
            Group = Root ++ "cpu/" ++ Name,
            "" = ask(Keeper, "group", Group),
            set(Group ++ "/cpu.cfs_period_us", integer_to_list(Period)),
            set(Group ++ "/cpu.cfs_quota_us", integer_to_list(Quota)),
            [Group];
        {false, false} ->
            missing("a cpu controller in ~ts", [Root])
    end.

words(Text) -> string:lexemes(binary_to_list(Text), " \n").

set(File, Value) ->
    case filelib:is_regular(File) andalso file:write_file(File, Value) of
        ok -> ok;
        false -> missing("~ts: there is none", [File]);
        {error, Why} -> missing("~ts: ~ts", [File, Why])
    end.

missing(Format, Values) -> throw({missing, io_lib:format(Format, Values)}).
