/** Every example prints what its first comment says, and the README's code runs. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);
const EXAMPLES = readdirSync(new URL('examples/', ROOT));

/** @param {string[]} words */
const outputOf = (...words) => execFileSync(process.execPath, words, { cwd: fileURLToPath(ROOT), encoding: 'utf8' });

test('there are examples', () => assert.equal(EXAMPLES.length, 5));

for (const name of EXAMPLES) {
  test(`${name} prints what it says`, () => {
    const example = new URL(`examples/${name}`, ROOT);
    const comment = readFileSync(example, 'utf8').split('*/')[0]?.split('\n').slice(3, -1) ?? [];
    assert.equal(outputOf(fileURLToPath(example)), comment.map((line) => `${line.replace(/^ \* ?/, '')}\n`).join(''));
  });
}

test("the README's code runs", () => {
  const code = /^```js\n(.*?)^```$/ms.exec(readFileSync(new URL('README.md', ROOT), 'utf8'))?.[1] ?? '';
  assert.match(outputOf('--input-type=module', '--eval', code), /The kettle leaks/);
});
