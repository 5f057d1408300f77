/**
 * Names, addresses and `ip` commands of a path between two network namespaces, and what is left of those of processes
 * that ended without clearing up. Nothing here runs anything.
 *
 *     client namespace      root namespace            root namespace      server namespace
 *     eth0 198.18.0.1  ──  veth ── macvtap  ═ pump ═  macvtap ── veth  ──  eth0 198.18.0.2
 */

/** Of the block that RFC 2544 gives to benchmarks; the namespaces are closed, so every path has the same two. */
export const addresses = { client: '198.18.0.1', server: '198.18.0.2' } as const;

export type Side = keyof typeof addresses;
export const sides: readonly Side[] = ['client', 'server'];

export interface SideNames {
  readonly side: Side;
  readonly namespace: string;
  /** The end of the veth pair in the root namespace. */
  readonly veth: string;
  /** What the pump reads and writes. */
  readonly tap: string;
}

export interface KernelOptions {
  readonly congestion: 'cubic' | 'reno';
  /** Whether a connection that was idle starts with a small window again; Linux's default is true. */
  readonly slowStartAfterIdle: boolean;
}

export interface Command {
  readonly program: 'ip';
  readonly words: readonly string[];
}

const ip = (...words: readonly string[]): Command => ({ program: 'ip', words });

/** Names of at most 15 letters, the kernel's bound, that say which process they belong to. */
export function namesOf(pid: number, path: number): readonly SideNames[] {
  return sides.map((side) => {
    const own = `lr-${pid}-${path}${side.charAt(0)}`;
    return { side, namespace: own, veth: own, tap: `${own}t` };
  });
}

const hardwareAddresses: Readonly<Record<Side, string>> = {
  client: '02:00:00:00:00:01',
  server: '02:00:00:00:00:02',
};

const otherOf: Readonly<Record<Side, Side>> = { client: 'server', server: 'client' };

/**
 * Makes one side. Segmentation offload is off, so that what the pump delays is packets of 1,500 bytes, and neighbours
 * are fixed, so that no packet waits for ARP. The congestion control is the route's: as a namespace's own setting the
 * kernel takes only what the host allows to everyone.
 */
export function setUpCommands(
  { side, namespace, veth, tap }: SideNames,
  { congestion, slowStartAfterIdle }: KernelOptions,
): readonly Command[] {
  const inside = (...words: readonly string[]): Command => ip('-n', namespace, ...words);
  const there = otherOf[side];
  const settings = {
    tcp_slow_start_after_idle: slowStartAfterIdle ? 1 : 0,
    tcp_no_metrics_save: 1, // Else a connection inherits the window at which the one before it lost something.
  };
  const written = Object.entries(settings).map(
    ([name, value]) => `echo ${value} > /proc/sys/net/ipv4/${name}`,
  );
  return [
    ip('netns', 'add', namespace),
    ip('link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace),
    ip('link', 'set', veth, 'addrgenmode', 'none'),
    ip('link', 'add', 'link', veth, 'name', tap, 'txqueuelen', '4096', 'type', 'macvtap', 'mode', 'passthru'),
    ip('link', 'set', tap, 'addrgenmode', 'none'),
    ip('link', 'set', veth, 'up'),
    ip('link', 'set', tap, 'up'),
    inside('link', 'set', 'lo', 'up'),
    inside('link', 'set', 'eth0', 'addrgenmode', 'none'),
    inside('link', 'set', 'eth0', 'address', hardwareAddresses[side], 'gso_max_segs', '1'),
    inside('link', 'set', 'eth0', 'up'),
    inside('addr', 'add', `${addresses[side]}/30`, 'dev', 'eth0'),
    inside('route', 'replace', '198.18.0.0/30', 'dev', 'eth0', 'src', addresses[side], 'congctl', congestion),
    inside(
      'neigh',
      'replace',
      addresses[there],
      'lladdr',
      hardwareAddresses[there],
      'dev',
      'eth0',
      'nud',
      'permanent',
    ),
    ip('netns', 'exec', namespace, 'sh', '-c', written.join(' && ')),
  ];
}

/** Ends what `setUpCommands` made, as far as it came: each may fail where there is nothing. */
export function tearDownCommands(
  names: readonly Pick<SideNames, 'veth' | 'namespace'>[],
): readonly Command[] {
  return names.flatMap(({ veth, namespace }) => [
    ip('link', 'delete', veth),
    ip('netns', 'delete', namespace),
  ]);
}

/**
 * Namespaces and devices of processes that are no more.
 * @param listing what `ip netns list` and `ip -o link show` print.
 */
export function leftoversIn(
  listing: string,
  lives: (pid: number) => boolean,
): readonly Pick<SideNames, 'veth' | 'namespace'>[] {
  const names = new Set<string>();
  for (const [, name, pid] of listing.matchAll(/^(?:\d+: )?(lr-(\d+)-\d+[cs])(?=[\s@:]|$)/gm))
    if (name !== undefined && !lives(Number(pid))) names.add(name);
  return [...names].map((name) => ({ veth: name, namespace: name }));
}

/** The number that `stat` gives for a device of the kernel's `MAJOR:MINOR`; null where the text is none. */
export function deviceNumberOf(text: string): number | null {
  const [, major, minor] = /^(\d+):(\d+)\s*$/.exec(text) ?? [];
  if (major === undefined || minor === undefined) return null;
  return Number(major) * 256 + (Number(minor) % 256) + Math.floor(Number(minor) / 256) * 2 ** 20;
}
