defmodule Demo.LineServer do
  # An ordinary GenServer. It keeps the lines in memory, and knows nothing of the dam.
  use GenServer

  def start_link(_), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  # How many lines have come.
  def count, do: GenServer.call(__MODULE__, :count)

  @impl true
  def init(lines), do: {:ok, lines}

  @impl true
  def handle_call(:count, _from, lines), do: {:reply, length(lines), lines}

  @impl true
  def handle_cast({:line, line}, lines), do: {:noreply, [line | lines]}
end
