/** A relay in a process of its own: `node relay-process.js HOST PORT RTT_MS BYTES_PER_SECOND plain|tls`. See start-relay.ts. */
import { openRelay } from './relay.js';

const [host = '', port, rttMs, bytesPerSecond, kind] = process.argv.slice(2);
const relay = await openRelay({
  to: { host, port: Number(port) },
  rttMs: Number(rttMs),
  bytesPerSecond: Number(bytesPerSecond),
  tls: kind === 'tls',
});
process.once('disconnect', () => process.exit(0));
process.send?.(relay.port);
