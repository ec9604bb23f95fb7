defmodule Demo.MixProject do
  use Mix.Project

  def project do
    [app: :demo, version: "0.1.0", elixir: "~> 1.14", deps: deps()]
  end

  def application do
    [mod: {Demo.Application, []}]
  end

  # URL: where you clone tailback from.
  defp deps do
    [
      {:tailback, git: "URL", branch: "main", sparse: "erlang/tailback"}
    ]
  end
end
