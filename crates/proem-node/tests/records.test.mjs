/** Recorded runs, as the program reads them. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { InvalidError, NegativeError, OutsideError, records } from 'proem-engine';

const program =
  process.env['PROEM_TEST_PROGRAM'] ?? fileURLToPath(new URL('../../../target/debug/proem', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'proem-node-'));

/** Asks a server that answers from a script two questions. */
before(async () => {
  let asked = 0;
  const provider = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = { role: 'assistant', content: `It is ${asked++}.` };
    const { model } = JSON.parse(text);
    const usage = { prompt_tokens: 90, completion_tokens: 20, total_tokens: 110 };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ model, choices: [{ index: 0, finish_reason: 'stop', message }], usage }));
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const address = provider.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  for (const name of ['config', 'state', 'cache']) process.env[`XDG_${name.toUpperCase()}_HOME`] = join(folder, name);
  mkdirSync(join(folder, 'config/proem'), { recursive: true });
  writeFileSync(
    join(folder, 'config/proem/config.toml'),
    `[providers.local]\nbase_url = "http://127.0.0.1:${port}/v1"\n[roles]\nsmall = "local/some-model"\n`,
  );
  for (const question of ['What is first?', 'What is second?']) {
    const asking = promisify(execFile)(program, ['ask', question, '--model', 'small', '--no-adapt'], { cwd: folder });
    asking.child.stdin?.end();
    await asking;
  }
  provider.close();
});

after(() => rmSync(folder, { recursive: true }));

test('runs and calls are read', async () => {
  const found = await records.open(folder, { program });
  const runs = await found.runs();
  assert.deepEqual(runs.map((run) => run['outcome']), ['answered', 'answered']);
  assert.equal((await found.runs({ limit: 1 })).length, 1);
  const whole = await found.run(String(runs[0]?.['id']));
  assert.throws(() => `${whole}`, InvalidError);
  assert.match(JSON.stringify(whole.value), /It is 1\./);
  const calls = [];
  for await (const call of found.calls({ since: '7d', prompt: 'ask' })) calls.push(call);
  assert.deepEqual(calls.map((call) => call['model']), ['some-model', 'some-model']);
  assert.doesNotMatch(JSON.stringify(calls), /It is/, 'figures have no text');
  for await (const call of found.calls()) {
    assert.equal(call['run'], runs[1]?.['id']);
    break;
  }
  assert.equal((await (await records.open(folder, { everything: true, program })).runs()).length, 2);
});

test('whoever drops the calls ends well', async () => {
  const endless = join(folder, 'endless');
  writeFileSync(endless, '#!/bin/sh\n[ "$1" = --version ] || while echo "{}"; do :; done\n');
  chmodSync(endless, 0o755);
  const code = `const { records } = require('proem-engine');
    records.open('.', { program: ${JSON.stringify(endless)} }).then((found) => found.calls().next()).then(console.log);`;
  const cwd = fileURLToPath(new URL('../', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', code], { cwd, timeout: 60_000 });
  assert.match(stdout, /done: false/);
});

test('the program of an installed package is taken', async () => {
  const installed = join(folder, `modules/proem-${process.platform}-${process.arch}/bin`);
  mkdirSync(installed, { recursive: true });
  symlinkSync(program, join(installed, 'proem'));
  mkdirSync(join(folder, 'git'));
  const git = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, 'git')).find(existsSync);
  symlinkSync(String(git), join(folder, 'git/git'));
  const code = `const { records } = require('proem-engine');
    records.open(process.argv[1]).then((found) => found.runs()).then((runs) => console.log(runs.length));`;
  const cwd = fileURLToPath(new URL('../', import.meta.url));
  const env = { ...process.env, NODE_PATH: join(folder, 'modules'), PATH: join(folder, 'git') };
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', code, folder], { cwd, env });
  assert.equal(stdout, '2\n');
});

test('failures say what to do', async () => {
  await assert.rejects(records.open('.', { program: 'no-such-program' }), /install the package `proem-/);
  const found = await records.open(folder, { program });
  await assert.rejects(found.runs({ since: 'yesterday' }), (error) => error instanceof InvalidError);
  await assert.rejects(
    found.run('--help'),
    (error) => error instanceof InvalidError || error instanceof NegativeError,
  );
  await assert.rejects(found.calls({ since: 'yesterday' }).next(), /yesterday/);
  // @ts-expect-error: a misspelt option
  await assert.rejects(found.runs({ sinse: '7d' }), /sinse/);
  const failing = join(folder, 'fails');
  writeFileSync(failing, '#!/bin/sh\n[ "$1" = --version ] || exit 3\n');
  chmodSync(failing, 0o755);
  const broken = await records.open(folder, { program: failing });
  await assert.rejects(broken.runs(), (error) => error instanceof OutsideError && /ended with code 3/.test(error.message));
});
