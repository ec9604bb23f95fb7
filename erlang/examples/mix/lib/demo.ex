defmodule Demo do
  # What tailback does in a project: the dam, and the two modules that measure.

  # Prints a line for each, and fails if a figure is wrong.
  def run do
    {:ok, _} = Application.ensure_all_started(:demo)
    dam()
    schedulers()
    mailbox()

    IO.puts(
      "demo: ok, tailback #{Application.spec(:tailback, :vsn)} on OTP #{System.otp_release()}"
    )
  end

  # Ten processes send 100 lines each. They wait while the dam has no room.
  defp dam do
    send = fn -> for n <- 1..100, do: :ok = :tailback_dam.cast(:line_dam, {:line, n}) end
    Task.await_many(for _ <- 1..10, do: Task.async(send))
    :ok = :tailback_dam.flush(:line_dam)
    1000 = Demo.LineServer.count()
    {:ok, %{server_mailbox_high: high}} = :tailback_dam.info(:line_dam)
    IO.puts("dam: 1000 lines, at most #{high} in the mailbox of the server")
  end

  # Blocks the schedulers with calls of 2 ms. The native library needs a C compiler to build.
  defp schedulers do
    mode =
      case :tailback_nif.available() do
        true ->
          :nif_busy

        {false, why} ->
          IO.puts("no native library: #{why}")
          :bignum
      end

    options = %{mode: mode, processes: 4, calls: 2, work: 2000}
    {:ok, %{wall_us: wall, ideal_us: ideal}} = :wait.measure(options)
    IO.puts("wait: mode #{mode} took #{wall} us, ideally #{round(ideal)} us")
  end

  # Floods a server, without a dam and with one.
  defp mailbox do
    for dam <- [:none, :credit] do
      options = %{dam: dam, senders: 4, messages: 100}

      {:ok, %{outcome: :drained, drained: 400, server_queue_high: high}} =
        :msgq_flood.measure(options)

      IO.puts("msgq_flood: dam #{dam}: at most #{high} messages waited")
    end
  end
end
