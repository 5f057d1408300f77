/** The sections of `summary.json`: the types of bench/lab/sections.ts, with unit and meaning of each field. */
import { z } from 'zod';

import { bytes, count, flag, ms, oneOf, orNull, perSecond, ratio, text, tokens, us } from './field.js';

const blocks = count('Blocks (real) or rollouts (virtual) in which both arms have a value.');
const interval = z.strictObject({
  low: ms('Lower end of the 95 % BCa bootstrap interval of the mean over blocks; none under 12 blocks.'),
  high: ms('Upper end of it.'),
});
const paired = z.strictObject({
  blocks,
  mean: ms('Mean of the paired differences.'),
  median: ms('Median of them.'),
  interval: orNull(interval),
  p_value: orNull(ratio('Two-sided, of no difference, by sign flips over blocks; null under 12 blocks.')),
});
const engine = oneOf(['real', 'virtual'], 'Where the figures come from.');
const cell = {
  scenario: text('What the model and the tools do.'),
  profile: text('What the service around the model costs.'),
  tokens_per_second: perSecond('tokens', 'Simulated speed at which the model writes.'),
  rtt_ms: ms('Round-trip time that was added.'),
};
const rollouts = count('Rollouts played by each arm.');

export const difference = z.strictObject({
  engine,
  ...cell,
  left: text('The arm whose times are taken.'),
  right: text('The arm whose times are taken away.'),
  rollouts,
  turns: count('Turns of them, together.'),
  ms_per_turn: paired.meta({ description: 'End to end per turn, left − right.' }),
  relative: ratio('Sum of the differences over the sum of the right arm, as run.'),
  relative_at_true_tool_time: ratio('The same with tools at their true time.'),
  smallest_detectable_ms_per_turn: orNull(
    ms(
      'From the A-A arm: 2.80 · s / √n, found four times in five at the 5 % level; null where there is no noise.',
    ),
  ),
});

export const profile = z.strictObject({
  ...cell,
  restarts_after_idle: flag('A window that was idle starts small again.'),
  rollouts,
  arms: z.array(
    z.strictObject({
      arm: text('A design over a transport.'),
      e2e_ms: ms('Mean end-to-end time of a rollout.'),
      overhead_ms_per_turn: ms('Mean overhead of a turn.'),
      first_token_ms: ms('Mean time from turn ready to first token, turns after the first.'),
      bytes_up_per_turn: bytes('Mean payload from the client.'),
      ratio: ratio('Sum of end-to-end times over that of `replay-http`.'),
    }),
  ),
  difference,
});

export const frontier = z.strictObject({
  scenario: cell.scenario,
  tokens_per_second: cell.tokens_per_second,
  rtt_ms: cell.rtt_ms,
  tool_scale: ratio('True tool time was multiplied by this.'),
  restarts_after_idle: flag('A window that was idle starts small again.'),
  rollouts,
  points: z.array(
    z.strictObject({
      residual_ms: ms('Assumed cost of a create beyond that of an append.'),
      admission_ms: ms('Assumed cost of a place on the machine that a create pays and an append does not.'),
      chain_ms_per_turn: ms('End to end per turn of the shipped design.'),
      ms_per_turn: ms('Prototype − shipped, end to end per turn.'),
      relative: ratio('The same as a share of the shipped design’s time.'),
      relative_at_true_tool_time: ratio('The same with tools at their true time.'),
    }),
  ),
  threshold_ms: orNull(
    ms(
      'Residual from which the gain passes 5 % at no difference in admission; null where none on the axis does.',
    ),
  ),
});

export const factors = z.strictObject({
  ...cell,
  restarts_after_idle: flag('A window that was idle starts small again.'),
  rollouts,
  cells: z.array(
    z.strictObject({
      on: z.array(text('Switches that are on.')),
      ms_per_turn: ms('Mean end-to-end time per turn.'),
    }),
  ),
  ladder: z.array(
    z.strictObject({
      step: text('The one change that this step makes.'),
      ms_per_turn: ms('Mean end-to-end time per turn after it.'),
    }),
  ),
  shapley: z.array(
    z.strictObject({
      factor: text('The switch.'),
      ms_per_turn: ms('What it saves, averaged over every order in which the switches can be set.'),
      share: ratio('Of the whole gain.'),
      alone_ms_per_turn: ms('What it saves as the only change to the shipped design.'),
    }),
  ),
  ahead: z.strictObject({
    ms_per_turn: ms('What work done ahead, while tools run, saves the shipped design.'),
    share: ratio('Of the whole gain.'),
  }),
});

export const invariance = z.strictObject({
  factor: oneOf(
    ['rtt_ms', 'context_tokens', 'output_tokens', 'tool_ms', 'turns'],
    'The one thing that changes.',
  ),
  restarts_after_idle: flag('A window that was idle starts small again.'),
  points: z.array(
    z.strictObject({
      value: z.number().meta({ unit: 'the factor’s', description: 'What it was set to.' }),
      ms_per_turn: ms('Prototype − shipped, end to end per turn.'),
    }),
  ),
  spread_ms: ms('Largest less smallest, per turn.'),
});

export const cold = z.strictObject({
  scenario: cell.scenario,
  profile: cell.profile,
  rtt_ms: cell.rtt_ms,
  tls: flag('With TLS 1.3.'),
  arm: text('A design over a transport.'),
  cold_ms: ms('Mean end-to-end time with the opening of the connection inside it.'),
  warm_ms: ms('The same without.'),
});

export const residency = z.strictObject({
  scenario: cell.scenario,
  ttl_ms: orNull(ms('How long the model’s state is kept after a suspension; null where for ever.')),
  arm: text('A design over a transport.'),
  token_seconds: z.number().meta({
    unit: 'tokens · s',
    description: 'Tokens of model state held, times the seconds for which they are, per rollout.',
  }),
  place_seconds: z.number().meta({
    unit: 's',
    description: 'Time per rollout in which a place on the machine is held while nothing is sampled.',
  }),
});

export const anchor = z.strictObject({
  name: text('Name of the cell.'),
  held_out: flag('Took no part in any fitting.'),
  ...cell,
  path: oneOf(['loopback', 'relay', 'namespaces'], 'What lies between client and server.'),
  blocks,
  overhead: z.array(
    z.strictObject({
      arm: text('A design over a transport.'),
      real: ms('Overhead per turn, measured.'),
      virtual: ms('Overhead per turn, in virtual time.'),
      formula: orNull(ms('Overhead per turn, by the formula.')),
    }),
  ),
  difference: z.strictObject({
    real: paired,
    virtual: ms('Paired difference per turn after the first, in virtual time.'),
    formula: orNull(ms('Paired difference per turn after the first, by the formula.')),
  }),
  agrees: flag('Within 10 % or 0.2 ms per turn, of every overhead and of the difference.'),
  agrees_within_noise: flag(
    'The same of every overhead; the difference lies in the interval of the one measured.',
  ),
});

export const machine = z.strictObject({
  arm: text('A design over a transport.'),
  request_ms: ms(
    'What the machine takes for each request after the first, fitted on the anchors not held out.',
  ),
  us_per_token: us('Beside it for each token that the request makes the server read.'),
  us_per_repeated_byte: us('Beside it for each byte of instructions and tools that a create sends again.'),
  turn_end_ms: ms(
    'From the last token of a turn until its calls are seen to be done; not of the first and the last.',
  ),
});

export const network = z.strictObject({
  name: text('Name of the cell.'),
  ...cell,
  tls: flag('With TLS 1.3.'),
  congestion: oneOf(['cubic', 'reno'], 'Congestion control of both ends.'),
  restarts_after_idle: flag('A window that was idle starts small again: as the kernel was told.'),
  blocks,
  overhead: z.array(
    z.strictObject({
      arm: text('A design over a transport.'),
      real: ms('Median overhead of the turns after the first, measured.'),
      virtual: ms('The same in virtual time.'),
    }),
  ),
  differences: z.array(difference),
  connect: z.array(
    z.strictObject({
      arm: text('A design over a transport.'),
      real: ms('Median time to open a connection; over HTTP it holds a first request too.'),
      virtual: ms('What the model says of it.'),
    }),
  ),
  cold: z.array(
    z.strictObject({
      arm: text('A design over a transport.'),
      cold_ms: ms('Mean time of a rollout with the opening of its connection inside.'),
      warm_ms: ms('The same without.'),
    }),
  ),
});

const quantiles = (what: string) =>
  z.strictObject({
    p50: ms(`${what}, median.`),
    p90: ms(`${what}, 90th percentile.`),
    p95: ms(`${what}, 95th percentile.`),
    p99: ms(`${what}, 99th percentile.`),
  });

export const capacity = z.strictObject({
  scenario: cell.scenario,
  profile: cell.profile,
  arm: text('A design over a transport.'),
  workers: count('Workers of the finite backend.'),
  arrivals: text('How rollouts arrive.'),
  offered_per_second: perSecond('rollouts', 'Rollouts that arrive.'),
  goodput_per_second: perSecond('rollouts', 'Rollouts that meet both bounds of goodput.'),
  slots: count('Turns that the model samples at once.'),
  rollouts,
  unfinished: count('Measured rollouts that did not complete before the run was over.'),
  attainment: ratio('Of the measured rollouts, those that met both bounds.'),
  capacity_per_second: perSecond('rollouts', 'What this design could carry at most, by workers and slots.'),
  slots_sampled_share: ratio('Of all the slots’ time, sampled in.'),
  slots_held_share: ratio('Of all the slots’ time, held while tools ran.'),
  ttft_ms: quantiles('Scheduled start of a turn → first token'),
  e2e_ms: quantiles('Scheduled arrival of a rollout → its end'),
});

export const verdict = z.strictObject({
  id: text('Of the hypothesis.'),
  statement: text('As registered before.'),
  decided_by: text('Field of this summary that decides it.'),
  engine,
  effect: text('What was found, with its interval.'),
  p_adjusted: orNull(
    z.number().meta({ unit: '1', description: 'Adjusted for the number of hypotheses (Holm).' }),
  ),
  verdict: oneOf(['supported', 'refuted', 'undecided'], 'What follows.'),
  because: text('Why.'),
});

export const claim = z.strictObject({
  claim: text('What was published.'),
  source: text('By whom, and where.'),
  verdict: oneOf(['reproduced', 'not reproduced', 'not comparable'], 'What follows.'),
  because: text('Why.'),
  decided_by: text('Field of this summary that decides it.'),
});

export const counts = z.strictObject({
  design: text('A design over a transport, in one rollout.'),
  pre: count('Passages through the stages before inference.'),
  append: count('Passages at an append.'),
  post: count('Passages after inference.'),
  classify: count('Runs of the classifier.'),
  render: count('Runs of the renderer.'),
  tokens_rendered: tokens('Tokens that passed it.'),
  frames_up: count('Frames or requests from the client.'),
  frames_down: count('Frames or events to it.'),
  bytes_up: bytes('Payload from the client.'),
  bytes_down: bytes('Payload to it.'),
});
