defmodule A.B do
  @moduledoc """
  mod doc
  """
  use GenServer, x: 1
  import Foo, only: [bar: 1]
  alias A.{X, Y}
  alias Q.W, as: E
  require Logger
  @attr 1
  @type t :: %__MODULE__{a: X.t()}
  defstruct [:a, :b]
  @doc "doc"
  @spec foo(t, integer) :: t
  @impl true
  def foo(a, b \\ 1) when is_list(a) do
    c = helper(a)
    c |> Enum.map(&X.run/1) |> local_call()
    %X{a: @attr}
  end
  def foo(_, b), do: b
  defp priv, do: :ok
  defmacro mac(x) do quote do unquote(x) end end
  defguard is_x(a) when a == 1
  defdelegate z(a), to: X
end
defprotocol P do
  def m(x)
end
defimpl P, for: Integer do
  def m(x), do: x
end
