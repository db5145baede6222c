// Loaded into a server of somebody else before the server itself (`node --import tap.mjs … LOG`). It changes nothing that
// the server does but this: what it receives, on its standard input or as bodies of HTTP requests, is also appended to
// LOG; a port that it opens is opened on loopback only and named on stderr; and it ends with its input at once, even
// when it still works on something, because tests wait for that.
import { appendFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import process from "node:process";
import { Readable } from "node:stream";

const log = process.argv.at(-1);

function push(chunk, encoding) {
  appendFileSync(log, chunk ?? "\n");
  return Readable.prototype.push.call(this, chunk, encoding);
}

http.IncomingMessage.prototype.push = push;
if (process.argv.includes("stdio")) {
  process.stdin.push = push;
  process.stdin.once("end", () => process.exit());
}

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`port ${this.address().port}`));
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};
