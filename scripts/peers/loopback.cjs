// Preloaded with `node --require`: server-everything says listen(PORT) and so
// opens every interface of the machine. A test server must not.
'use strict';

const net = require('node:net');

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  const isPort = typeof port === 'string' || typeof port === 'number';
  if (!isPort || typeof rest[0] === 'string') {
    throw new Error('loopback.cjs: expected listen(PORT, ...) without a host');
  }
  return listen.call(this, port, '127.0.0.1', ...rest);
};
