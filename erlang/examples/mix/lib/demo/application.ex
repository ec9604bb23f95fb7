defmodule Demo.Application do
  # Starts a server and the dam in front of it.
  use Application

  @impl true
  def start(_type, _arguments) do
    # The dam comes first and outlives a restart of the server, so its messages are not lost.
    children = [
      %{id: :line_dam, start: {:tailback_dam, :start_link, [:line_dam, Demo.LineServer]}},
      Demo.LineServer
    ]

    Supervisor.start_link(children, strategy: :rest_for_one)
  end
end
