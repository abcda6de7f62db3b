/** Values of answers, by schemas of Zod and JSON Schemas. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Decoded, InvalidError, NegativeError, Untrusted, decode, decodeAsync } from 'proem-engine';
import { z } from 'zod';

const Product = z.object({
  name: z.string().refine((name) => name !== 'unknown', 'name the product'),
  faulty: z.boolean(),
  grade: z.enum(['a', 'b']),
  parts: z.array(z.object({ name: z.string(), colour: z.enum(['red', 'blue']).optional() })),
  weight: z.number().nullable().default(null),
  day: z.iso.date().transform((day) => new Date(day)).optional(),
});

test('answers become what a schema of Zod makes of them', async () => {
  const text =
    'Here you are:\n```json\n{"name": "kettle", "faulty": true, "grade": "a", "parts": [{"name": "lid"}], ' +
    '"day": "2026-11-30",}\n```';
  const decoded = decode(text, Product);
  const parts = [{ name: 'lid' }];
  const day = new Date('2026-11-30');
  assert.deepEqual(decoded.value, { name: 'kettle', faulty: true, grade: 'a', parts, weight: null, day });
  assert.ok(decoded.repairs.length === 4 && decoded instanceof Decoded && decoded instanceof Untrusted);
  assert.deepEqual((await decodeAsync(text, Product)).value, decoded.value);
  const refused = '{"name": "kettle", "faulty": "perhaps", "grade": "a", "parts": []}';
  assert.throws(() => decode(refused, Product), { name: 'NegativeError', message: /\/faulty/ });
  const unknown = '{"name": "unknown", "faulty": true, "grade": "a", "parts": []}';
  assert.throws(() => decode(unknown, Product), { name: 'NegativeError', message: '/name: name the product' });
});

test('checks may be asynchronous', async () => {
  const schema = z.object({ name: z.string().refine(async (name) => name !== 'unknown', 'name the product') });
  assert.equal((await decodeAsync('{"name": "kettle"}', schema)).value.name, 'kettle');
  await assert.rejects(decodeAsync('{"name": "unknown"}', schema), /name the product/);
  assert.throws(() => decode('{"name": "kettle"}', schema), { name: 'InvalidError', message: /use `decodeAsync`/ });
});

const URGENT = { type: 'object', properties: { urgent: { type: 'boolean' } }, required: ['urgent'] };

test('a check that throws is an error that can be caught', async () => {
  const Link = z.object({ link: z.string().transform((text) => new URL(text)) });
  const text = '{"link": "no url"}';
  assert.throws(() => decode(text, Link), { name: 'InvalidError', message: /use `decodeAsync`/ });
  await assert.rejects(decodeAsync(text, Link), { name: 'NegativeError', message: /a check of the schema failed: / });
  /** @type {any} */
  const foreign = z.object({ link: z.string() });
  const thenable = { ...foreign['~standard'], validate: () => ({ then: (/** @type {Function} */ done) => done({ value: 1 }) }) };
  assert.throws(() => decode(text, { '~standard': thenable }), /use `decodeAsync`/);
  assert.equal((await decodeAsync(text, { '~standard': thenable })).value, 1);
});

test('a JSON Schema is enough', () => {
  const decoded = decode(new Untrusted('It is:\n```json\n{"urgent": true}\n```'), URGENT);
  assert.deepEqual(decoded.value, { urgent: true });
});

test('a doubtful answer is refused', async () => {
  for (const text of [
    '',
    'no value',
    '{"urgent": true',
    '{"urgent": true} or {"urgent": false}',
    '{"other": 1}',
    '{"urgent": NaN}',
  ]) {
    assert.throws(() => decode(text, URGENT), (error) => error instanceof NegativeError && error.problems.length > 0);
    await assert.rejects(decodeAsync(text, URGENT), NegativeError);
  }
});

test('a number that JavaScript would round is refused', () => {
  const schema = { type: 'object', properties: { orders: { type: 'array', items: { type: 'integer' } } } };
  assert.deepEqual(decode('{"orders": [9007199254740991]}', schema).value, { orders: [9007199254740991] });
  const rounded = () => decode('{"orders": [1, 9007199254740993]}', schema);
  assert.throws(rounded, { name: 'NegativeError', message: /^\/orders\/1: a whole number beyond 2\^53/ });
});

test("a wrong schema is the caller's mistake", () => {
  /** @type {any} */
  const wrong = decode;
  for (const [schema, words] of /** @type {[unknown, RegExp][]} */ ([
    [{ type: 'nonsense' }, /nonsense/],
    [{ type: 'array' }, /object/],
    [{ type: 'object', properties: { day: { maximum: NaN } } }, /is NaN/],
    [z.object({ day: z.date() }), /schema of `zod` has no JSON Schema/],
    [{ '~standard': { vendor: 'other', validate: () => ({}) } }, /gives no JSON Schema/],
    [7, /of type `number`/],
    [String, /of type `function`/],
    [null, /is null/],
  ])) {
    assert.throws(() => wrong('{}', schema), { name: 'InvalidError', message: words });
  }
  assert.throws(() => wrong(Buffer.from('{}'), URGENT), InvalidError);
});

test('names of fields are only names', () => {
  const { value } = decode('{"__proto__": {"urgent": true}}', { type: 'object' });
  assert.deepEqual(Object.keys(/** @type {object} */ (value)), ['__proto__']);
  assert.equal(/** @type {any} */ ({}).urgent, undefined);
});

test('deep and long answers end', () => {
  const schema = { type: 'object', properties: {} };
  assert.throws(() => decode('{"a":'.repeat(100_000), schema), NegativeError);
  assert.throws(() => decode('['.repeat(1_000_000), schema), NegativeError);
  assert.ok(decode(`{"a": "${'x'.repeat(1_000_000)}"}`, schema).value);
});
