// The model of an agent is the process that started it. The first line on stdout has the revision
// that was negotiated, {"protocol": REVISION}, where the SDK says it. Each turn is a line,
//   {"tools": [NAME...], "results": {NAME: [TEXT...]...}}
// in which results are the texts that the calls of the turn before gave, and the reply is a line
// on stdin:
//   {"calls": [{"name": NAME, "arguments": {...}}...]}   calls tools, at the same time
//   {"say": TEXT}                                        ends a run; another one follows
// A question of the server is a line as well, {"question": {...}}, and its reply the ElicitResult.
// The conversation is over when stdin ends.
import { createInterface } from 'node:readline';

const replies = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let calls = 0;

// over says that stdin has ended.
export let over = false;

async function ask(value) {
  console.log(JSON.stringify(value));
  const { value: line, done } = await replies.next();
  over ||= done;
  return done ? undefined : JSON.parse(line);
}

// connected tells the model which revision was negotiated.
export const connected = (protocol) => console.log(JSON.stringify({ protocol }));

// turn asks the model what to do: to call tools, or to say something. Each call gets an id.
export async function turn(tools, results) {
  const reply = await ask({ tools, results }) ?? { say: 'The end.' };
  return { ...reply, calls: reply.calls?.map((call) => ({ ...call, id: `call-${calls++}` })) };
}

// answer handles elicitation/create.
export const answer = async ({ params }) => await ask({ question: params }) ?? { action: 'cancel' };
