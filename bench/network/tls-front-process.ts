/**
 * A TLS front in a process of its own, for a server in a namespace: `node tls-front-process.js HOST PORT`. It takes
 * connections on HOST, at a port that it says to its parent, and hands them on to PORT on 127.0.0.1.
 */
import { openTlsFront } from './tls-front.js';

const [host = '', port] = process.argv.slice(2);
const front = await openTlsFront({ to: { host: '127.0.0.1', port: Number(port) }, host });
process.once('disconnect', () => process.exit(0));
process.send?.(front.port);
