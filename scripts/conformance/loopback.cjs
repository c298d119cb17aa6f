// Preloaded with `node --require`: the suite's mock servers say listen(0) and
// so open every interface of the machine. A test server must not.
//
// Not ../peers/loopback.cjs: naming a host makes listen() asynchronous, and
// some mocks ask for their port on the next line. _listen2, which listen()
// ends in, is not public; scripts/conformance pins the Node that has it.
'use strict';

const net = require('node:net');

const listen = net.Server.prototype._listen2;
if (typeof listen !== 'function') {
  throw new Error('loopback.cjs: this Node has no _listen2');
}

net.Server.prototype._listen2 = function (address, port, type, ...rest) {
  if (address === null && port >= 0) {
    return listen.call(this, '127.0.0.1', port, 4, ...rest);
  }
  return listen.call(this, address, port, type, ...rest);
};
