local M = {}
local H = require('a.b')
--- doc
function M.foo(a, b) local c = helper(a); H.run(c); c:method(b) return M.K end
M.bar = function(x) end
local function loc(x) end
function M:meth() self:foo() end
H.x.y = function() end
local f2 = function() end
M.K = 1
glob = { a = function() end, b = loc }
return M
