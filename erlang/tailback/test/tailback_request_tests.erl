-module(tailback_request_tests).

-include_lib("eunit/include/eunit.hrl").

a_late_answer_of_a_port_is_not_that_of_the_next_request_test_() ->
    {timeout, 300, fun a_late_answer_of_a_port_is_not_that_of_the_next_request/0}.

a_late_answer_of_a_port_is_not_that_of_the_next_request() ->
    {ok, {port, Port} = Request} = tailback_request:open(port, "."),
    true = port_command(Port, <<"an earlier request">>),
    ?assertEqual(ok, tailback_request:make(Request)),
    Left =
        receive
            {Port, {data, Data}} -> Data
        after 5000 -> none
        end,
    ?assertEqual(<<"an earlier request">>, Left),
    ok = tailback_request:close(Request).

a_late_answer_of_a_socket_is_not_that_of_the_next_request_test_() ->
    {timeout, 300, fun a_late_answer_of_a_socket_is_not_that_of_the_next_request/0}.

a_late_answer_of_a_socket_is_not_that_of_the_next_request() ->
    {ok, {tcp, Socket, _} = Request} = tailback_request:open(tcp, "."),
    ok = gen_tcp:send(Socket, <<"an earlier request">>),
    ?assertEqual(ok, tailback_request:make(Request)),
    %% Both answers were taken.
    ?assertEqual({error, timeout}, gen_tcp:recv(Socket, 0, 100)),
    ok = tailback_request:close(Request).

requests_fail_once_their_program_has_ended_test_() ->
    {timeout, 300, fun requests_fail_once_their_program_has_ended/0}.

requests_fail_once_their_program_has_ended() ->
    {ok, {port, Port} = Request} = tailback_request:open(port, "."),
    true = port_close(Port),
    ?assertEqual(error, tailback_request:make(Request)),
    ?assertEqual(ok, tailback_request:close(Request)).
