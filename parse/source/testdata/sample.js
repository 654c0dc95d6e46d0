'use strict';

const path = require('path');
import def, { named as other } from './module.js';

// A widget.
class Widget extends Base {
  static count = 0;
  #secret() { return this.count; }
  handler = () => this.update(def);
  async update(value) {
    const local = helper(value);
    return other(local, callback, MAX_SIZE);
  }
}

const compute = async (a, b) => {
  return a + b;
};

const options = {
  name: 'x',
  open() { return 1; },
  close: function () {},
};

exports.run = function run(args) {
  args.forEach(compute);
};

Widget.prototype.render = function () {
  return new Widget(options);
};
