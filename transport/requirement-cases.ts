/** Faults that users of such an interface have reported, as far as they concern this wire: what must happen instead. */

export interface Case {
  readonly id: string;
  /** What kind of fault it is. */
  readonly kind: string;
  readonly says: string;
}

function of(kind: string, ...cases: readonly (readonly [id: string, says: string])[]): Case[] {
  return cases.map(([id, says]) => ({ id, kind, says }));
}

export const cases: readonly Case[] = [
  ...of(
    'unknown call',
    [
      'B1',
      'An output for a call that nobody made is refused by its call id, and the rollout stays suspended.',
    ],
    ['B3', 'An item id is no call id, and an output without its history is refused.'],
    ['B4', 'A custom call is answered by its own kind of output.'],
  ),
  ...of(
    'duplicates',
    ['B5', 'A second answer is refused; the first one sent again is acknowledged and changes nothing.'],
    ['B8', 'An item id that stands twice is refused by name, before any work.'],
    ['B9', 'A call echoed beside its output is kept once.'],
    ['B10', 'A call and its output enter the context once each, and the call is told once.'],
  ),
  ...of(
    'parallel calls',
    ['B11', 'Outputs of parallel calls enter in call order, whatever order they came in.'],
    ['B12', 'A continuation that leaves a call unanswered is refused by its id.'],
    ['B15', 'Arguments of parallel calls stay apart, however their bytes are mixed.'],
    ['B16', 'Who comes back is told of the calls that are still owed, and of no other.'],
  ),
  ...of(
    'too early',
    ['B17', 'An output that comes while its call is being written is held until the turn is over.'],
    ['B19', 'An append that comes right behind the one that ends the wait gets an outcome of its own.'],
  ),
  ...of(
    'wrong response',
    ['B21', 'An append goes to the response it names, whichever was last.'],
    ['B22', 'An append on a new socket resumes its rollout or is refused; it never starts another.'],
  ),
  ...of(
    'disconnect',
    ['B23', 'A rollout whose client dropped is resumed in the grace time and ends once after it.'],
    ['B24', 'A wait of twenty minutes ends like a short one.'],
    ['B25', 'After a restart an append is told that its response is gone; nothing is taken in silence.'],
    ['B27', 'Whoever attached last owns it; another credential finds nothing.'],
  ),
  ...of(
    'replay',
    [
      'B29',
      'A replay from the start has response.created, one from a number has neither it nor a repetition.',
    ],
    ['B30', 'A replay of events that are gone is refused by name, and the state can be read.'],
  ),
  ...of(
    'previous_response_id',
    ['B31', 'An unknown parent is one error of the public code, and the full history works after it.'],
    ['B32', 'Its code is the same on a socket, as JSON and as a stream.'],
    ['B36', 'Nothing is shown as completed before it is stored.'],
    ['B38', 'What a later create leaves out is treated the same at every turn.'],
    ['B39', 'New instructions take the place of the old.'],
    ['B40', 'A whole new transcript starts afresh, with nothing of the old merged in.'],
    ['B42', 'What is not stored is unknown on another socket and is nowhere in the store.'],
  ),
  ...of(
    'shape',
    ['B43', 'Ids are the same wherever an item is told of.'],
    ['B45', 'Helpers of public clients accumulate our streams.'],
    ['B46', 'Events of an item come between its announcement and its end.'],
    ['B47', 'Output indexes are never used twice.'],
    ['B48', 'A strict client finds every field that it needs.'],
    ['B50', 'Parts have the lists that clients read without looking.'],
    ['B52', 'A keepalive is an event that clients know.'],
    ['B53', 'A call is told whole before anybody waits for its answer.'],
    ['B55', 'Numbers rise by one from 0 over a whole response.'],
  ),
  ...of(
    'errors',
    ['B57', 'A fault before response.created is an error, one after it a response.failed.'],
    ['B58', 'A quota has its status, its code and a time to come again within the frame.'],
    ['B59', 'A fault in mid-stream is told before the end mark.'],
    ['B60', 'A sampler that falls silent fails the response at its bound.'],
    ['B62', 'A strict tool with an open schema is refused by the place, with one code on every route.'],
    ['B64', 'An overflow has the code context_length_exceeded.'],
  ),
  ...of(
    'frames',
    ['B66', 'A frame over the limit closes its socket with 1009 and the limit; the rollout lives.'],
    ['B68', 'A malformed frame gets one error and disturbs nobody.'],
    ['B70', 'Harmless and unknown fields run.'],
  ),
  ...of(
    'text',
    ['B72', 'A character that comes in pieces is told once it is whole.'],
    ['B74', 'A stream cut anywhere reads the same; every text is one line of data.'],
  ),
  ...of(
    'tools',
    ['B82', 'An output is text or parts, and nothing else.'],
    ['B83', 'An output over its bound is refused, and a shorter one is taken.'],
    ['B84', 'Tools of all kinds are accepted together.'],
    ['B85', 'A call into a namespace has name and namespace apart.'],
    ['B86', 'A tool without parameters is the same one however that is said.'],
    ['B91', 'A call of a tool that nobody declared is surfaced and can be answered.'],
  ),
  ...of(
    'pressure and silence',
    ['B93', 'A client that stops reading costs a bounded buffer and nobody else anything.'],
    ['B94', 'Under pressure a ping is answered or the socket closed.'],
    ['B95', 'While the model is silent an event goes out at least every 60 s.'],
    ['B96', 'So it does while the rollout waits for its client.'],
    ['B98', 'A slow upload is no silence, and holds up no other socket.'],
    ['B100', 'On the way out what runs may end, what waits is told, and nothing new begins.'],
  ),
  ...of(
    'one socket',
    ['B101', 'Creates without a lane queue up, those on lanes run beside each other under their names.'],
    ['B102', 'However a response ended, the next create is taken at once.'],
  ),
  ...of(
    'cancel',
    ['B104', 'After a cancel during a tool the conversation goes on.'],
    ['B105', 'So it does where a custom call was open too.'],
    ['B107', 'A call that a cancel cut short is not saved as a finished one.'],
    ['B109', 'No event of what was cancelled comes after the next response has begun.'],
    ['B110', 'A model whose client vanished is stopped, once.'],
  ),
  ...of(
    'usage',
    ['B111', 'The bill of a socket is what its terminal events say.'],
    ['B113', 'Usage counts each token of the context once, in every design alike.'],
    ['B114', 'A client that leaves before the end is billed once.'],
    ['B115', 'Work before and after inference runs once for a rollout.'],
    ['B116', 'One answer of two runs nothing.'],
  ),
  ...of(
    'opening',
    ['B119', 'Without sockets an upgrade gets 426; a bad key gets 401 on it.'],
    ['B121', 'The model comes with the create, not with the socket.'],
    ['B122', 'A key that is revoked loses its sockets.'],
  ),
  ...of(
    'history',
    ['B123', 'Reasoning is taken with and without the item behind it, on every route alike.'],
    ['B124', 'A call is taken with and without its reasoning.'],
    ['B130', 'A message is no answer: it waits for the answers.'],
  ),
  ...of(
    'after the close',
    ['B131', 'Nothing touches a socket that has closed.'],
    ['B132', 'A frame keeps its bytes, however late it is read.'],
  ),
];
