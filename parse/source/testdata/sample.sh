#!/bin/bash
source ./lib.sh
. other.sh
# doc
foo() {
  local x=$1
  bar "$x" | grep y; $(helper a)
}
function baz { foo 1; }
readonly K=1
export V=2
W=3
alias ll='ls'
