require "json"
require_relative 'a/b'
module M
  # doc
  class Foo < Base::X
    include Comparable
    attr_reader :a, :b
    CONST = 1
    def initialize(a, k: 1, &blk); @a = a; super; end
    def self.make(*args) = new(*args).tap { |q| q.go(helper) }
    private
    def priv?; bar.baz(&:sym) unless CONST; end
    alias_method :x, :y
    class << self
      def sm; end
    end
  end
  Point = Struct.new(:x)
end
describe "x" do
  it { expect(Foo.make).to eq M::Foo }
end
