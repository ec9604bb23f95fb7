defmodule Demo.Application do
  # Starts a server and the dam in front of it.
  use Application

  @impl true
  def start(_type, _arguments) do
    # The dam comes first and outlives a restart of the server, so its messages are not lost. It
    # is transient, so that it is not started again after :tailback_dam.stop. The supervisor allows
    # more restarts than the dam needs to give up a message that ends its server.
    children = [
      %{
        id: :line_dam,
        start: {:tailback_dam, :start_link, [:line_dam, Demo.LineServer]},
        restart: :transient
      },
      Demo.LineServer
    ]

    Supervisor.start_link(children, strategy: :rest_for_one, max_restarts: 10)
  end

  # The supervisor would end the server and the dam with all that waits in it. So deliver it first.
  @impl true
  def prep_stop(state) do
    _ = :tailback_dam.stop(:line_dam, 5000)
    state
  end
end
