/**
 * What this wire has to do, as data: each statement in a sentence, with the routes it speaks of. A test proves one by
 * citing its id in its name; `npm run requirements` lists who does. Cases are in `requirement-cases.ts`.
 */

export type Route = 'socket' | 'json' | 'sse';

export interface Requirement {
  readonly id: string;
  /** M: must, and is never without a test. S: should. */
  readonly level: 'M' | 'S';
  readonly says: string;
  readonly on: readonly Route[];
}

const socket = ['socket'] as const;
const json = ['json'] as const;
const sse = ['sse'] as const;
const http = ['json', 'sse'] as const;
const streams = ['socket', 'sse'] as const;
const all = ['socket', 'json', 'sse'] as const;

function must(id: string, on: readonly Route[], says: string): Requirement {
  return { id, level: 'M', says, on };
}

function should(id: string, on: readonly Route[], says: string): Requirement {
  return { id, level: 'S', says, on };
}

export const requirements: readonly Requirement[] = [
  // What carries it.
  must('P1', all, 'The create path opens sockets on an upgrade and still takes POST.'),
  must('P2', socket, 'A missing or wrong key is refused with 401 and a JSON body, before the upgrade.'),
  must('P3', socket, 'Every frame from the server is text: one JSON object with a string type.'),
  must('P4', socket, 'No frame says [DONE].'),
  must('P5', sse, 'Events are named by their type and carry no id; [DONE] is the last.'),
  must('P6', sse, 'Each event leaves in one write.'),
  must('P7', json, 'An answer that is no stream is application/json.'),
  must('P8', socket, 'Where sockets are not served, an upgrade gets 426.'),
  must('P9', socket, 'A frame that cannot be read gets one error of status 400, and the socket stays open.'),
  should('P10', socket, 'Compression is never required; here it is never negotiated either.'),
  must('P11', all, 'Unknown headers and body fields cause no failure.'),
  must('P12', socket, 'At its age limit a socket gets one error that says so, and is closed.'),
  should(
    'P13',
    socket,
    'Nothing starts after the age limit; what runs gets one terminal event or that error.',
  ),
  should('P14', socket, 'The close code tells a restart from a slow reader and from a frame too long.'),
  should('P15', streams, 'A long silence within a turn is broken by a JSON event.'),
  // A create.
  must('P16', all, 'The fields of a create are flat.'),
  must(
    'P17',
    all,
    'The fields stream and stream_options do no harm; background:true is refused, background:false is not.',
  ),
  must('P18', all, 'Without a model there is an error of param model, and nothing is created.'),
  must('P19', all, 'A string as input is one user message.'),
  must('P20', socket, 'One lane is one at a time: no event of a turn before the end of the one before it.'),
  must('P21', socket, 'A create that comes while one runs waits and is not refused.'),
  must('P22', socket, 'Without a lane at most one response is under way on a socket.'),
  must('P23', streams, 'A socket and a stream show the same events, apart from ids, dates and the lane.'),
  must('P24', all, 'A warm-up is created and completed without sampling, and can be continued.'),
  should('P25', all, 'A warm-up has no output tokens.'),
  // Lanes.
  must('P26', socket, 'A lane name that is none is refused with invalid_stream_id, and not echoed.'),
  must('P27', socket, 'Events of a named lane carry its name; those of the default lane carry none.'),
  must('P28', socket, 'Lanes run beside each other.'),
  must('P29', socket, 'A seventeenth response waits until one of sixteen ends.'),
  must('P30', socket, 'A thirty-third lane name is refused; the default lane is none of them.'),
  must('P31', all, 'Without a parent a create begins anew, on a used lane too.'),
  must('P32', socket, 'A response of another lane can be continued while it is cached, stored or not.'),
  must('P33', socket, 'A parent is looked up when its create starts, not when it arrives.'),
  must('P34', socket, 'A fork that fails on another lane leaves the parent usable on its own.'),
  should('P35', http, 'A stream_id over HTTP is ignored.'),
  // Going on.
  must('P36', all, 'The context is the parent’s input, its output, and the new input, in that order.'),
  must('P37', socket, 'What is not stored goes on on its own socket, and nothing is written.'),
  must('P38', all, 'What is not stored is previous_response_not_found anywhere else.'),
  must('P39', all, 'An unknown parent is previous_response_not_found, and the next create is served.'),
  must('P40', socket, 'A continuation that fails takes its parent out of the cache.'),
  must('P41', all, 'An output for a call that is not in the context is refused.'),
  should('P42', all, 'What is stored can be continued on another socket and over HTTP.'),
  must('P43', all, 'What belongs to one credential does not exist for another.'),
  must('P44', all, 'A parent and a conversation together are refused.'),
  must('P45', all, 'A response says which parent it was asked to continue.'),
  must('P46', json, 'The output of a compaction can be sent back as input, as it is.'),
  must('P47', json, 'A compaction without a model is refused; its answer is a response.compaction.'),
  must('P48', all, 'A client that goes frees what its connection held; what ran ends by a written rule.'),
  // The shape of a stream.
  must('P49', streams, 'response.created comes first, one terminal event last.'),
  must('P50', streams, 'Numbers run from 0 without a gap.'),
  must('P51', streams, 'An item is added before anything of it is told and closed after; indexes are dense.'),
  must('P52', streams, 'A content part is added before its text and done after it.'),
  must('P53', streams, 'Deltas, joined, are what every later copy of the same content says.'),
  must('P54', streams, 'The output of the terminal event is the items that were done, in their order.'),
  must('P55', all, 'A turn that waits for its client’s tools ends as completed.'),
  must('P56', all, 'Arguments are a string of JSON; a call has an id and another call_id.'),
  must('P57', all, 'A tool_choice binds: none, required, one by name, some by name.'),
  must('P58', all, 'At max_output_tokens a response is incomplete, and so is its last item.'),
  must('P59', all, 'A response always has all of its 31 fields, its tools have all of theirs.'),
  must('P60', all, 'A context that overflows is an error; nothing is dropped in silence.'),
  should('P61', streams, 'Text events have an empty list of logprobs.'),
  should('P62', streams, 'Raw reasoning is told as response.reasoning_text.'),
  // Errors.
  must('P63', json, 'The body of an HTTP error is an error of message, type, param and code.'),
  must('P64', socket, 'An error on a socket has a number as status, and code, message and param within.'),
  must('P65', socket, 'A turn that fails gets one error before it is created, or one response.failed after.'),
  must(
    'P66',
    sse,
    'A fault within a stream is an error, flat and nested, then response.failed, then [DONE].',
  ),
  should('P67', all, 'No error tells of paths, stacks or addresses.'),
  should('P68', all, 'A 429 says when to come again, within the error too.'),
  // Messages and outputs into a response that runs.
  must(
    'P69',
    socket,
    'A steer of an unknown response fails with response_not_found and gives the input back.',
  ),
  must('P70', socket, 'A steer is accepted once, with an id; a later failure names the same id.'),
  must(
    'P71',
    socket,
    'A steered response ends after its item as incomplete, and a successor goes on from it.',
  ),
  must('P72', socket, 'Where calls are owed a steer waits, says for what, and enters before the next input.'),
  must('P73', socket, 'A create that comes before that is said is taken, and it is not said.'),
  must('P74', socket, 'Steers and injects are read while a response runs, not behind it.'),
  must('P75', socket, 'An inject applies whole or not at all.'),
  must('P76', socket, 'An inject after the end, or into nothing, fails and gives the input back.'),
  must('P77', socket, 'The same inject twice goes on once.'),
  must('P78', socket, 'A steer with fields that it does not have fails with invalid_input.'),
  must('P79', socket, 'Where there is no steering a steer fails and the socket lives.'),
  // What it withstands.
  must('P80', streams, 'A client that does not read costs a bounded buffer and no other client anything.'),
  must('P81', all, 'What a client left behind ends within a bound and leaks nothing.'),
  must('P82', all, 'A suspension ends at its time, in a terminal event.'),
  must('P83', all, 'Seventeen requests of all kinds at once are served.'),
  should('P84', all, 'Public clients run unmodified.'),
];
