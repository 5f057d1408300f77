/** What `whatif` does where nobody says otherwise. Apart, so that the command line need not load an engine to name it. */

/** The designs that are predicted, from the first shape to the prototype. */
export const whatIfArms: readonly string[] = [
  'replay-http',
  'replay-http post-sprint',
  'chain-http',
  'chain-ws',
  'chain-ws ahead',
  'shim-ws',
  'append-ws',
  'append-ws early',
];

export const whatIfDefaults = {
  rollouts: 50,
  against: 'replay-http',
  seed: 1,
  decodeTokensPerSecond: 1000,
  prefillTokensPerSecond: 20_000,
  rttMs: 50,
  bandwidthMbit: 50,
  restartsAfterIdle: true,
} as const;
