const std = @import("std");

/// A point.
pub const Point = struct {
    x: i32,

    pub fn norm(self: Point) i32 {
        return absolute(self.x);
    }
};

pub const limit = 10;

fn absolute(v: i32) i32 {
    return if (v < 0) -v else v;
}

test "norm" {
    try std.testing.expect(absolute(-1) == 1);
}
