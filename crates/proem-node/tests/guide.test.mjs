/** The guide's code runs and prints what the guide says, against a server that answers as a provider does. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const GUIDE = process.env['PROEM_TEST_GUIDE'] ?? new URL('../../../docs/guide/node.md', import.meta.url);
const CALL = { id: 'call-1', type: 'function', function: { name: 'findOrder', arguments: '{"number": "17"}' } };
const ANSWERS = [
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'assistant', content: 'It is: {"product": "kettle", "urgent": true}' },
];

/** @param {string} language */
function blocks(language) {
  const fences = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms');
  return [...readFileSync(GUIDE, 'utf8').matchAll(fences)].map((block) => block[1]).join('');
}

/** Prints the budget after everything else. */
const BALANCE = '\nconsole.log(budget.spentDollars);';

test('the guide runs', async () => {
  /** @type {any[]} */
  const bodies = [];
  const provider = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    const message = ANSWERS[bodies.push(body) - 1];
    const finish = message && 'tool_calls' in message ? 'tool_calls' : 'stop';
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({
        id: 'answer',
        object: 'chat.completion',
        created: 0,
        model: body.model,
        choices: [{ index: 0, finish_reason: finish, message }],
        usage: { prompt_tokens: 90, completion_tokens: 20, total_tokens: 110 },
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const address = provider.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const env = {
    PATH: process.env['PATH'],
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_API_KEY: 'a key that nobody checks',
  };
  const words = ['--input-type=module', '--eval', blocks('js') + BALANCE];
  const options = { cwd: fileURLToPath(new URL('../', import.meta.url)), env };
  const { stdout } = await promisify(execFile)(process.execPath, words, options);
  provider.close();
  const spent = Number(stdout.trimEnd().split('\n').at(-1));
  assert.equal(stdout, `${blocks('text')}${spent}\n`);
  assert.ok(spent > 0 && spent < 0.001);
  const [first, second] = bodies;
  assert.match(JSON.stringify(first.messages), /UNTRUSTED_CONTEXT.*guests arrive tomorrow/);
  assert.equal(first.max_tokens ?? first.max_completion_tokens, 300);
  assert.doesNotMatch(JSON.stringify(second), /refund/);
  assert.match(second.messages.at(-1).content, /\(withheld\)/);
});
