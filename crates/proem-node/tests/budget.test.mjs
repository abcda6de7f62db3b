/** Budgets are never exceeded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Budget, BudgetExceeded, InvalidError, NegativeError } from 'proem-engine';

const CALL = { model: 'gpt-4o', outputTokens: 500 };

test('a call that could exceed the budget is refused before it is made', () => {
  const budget = new Budget({ tokens: 10_000, dollars: 1 });
  const booking = budget.book('a prompt', CALL);
  const refused = (/** @type {unknown} */ error) => error instanceof BudgetExceeded && /tokens/.test(error.message);
  assert.throws(() => budget.book('a prompt '.repeat(2_000), CALL), refused);
  booking.settle({ inputTokens: 12, outputTokens: 40 });
  assert.equal(budget.spentTokens, 52);
  assert.ok(budget.spentDollars !== null && budget.spentDollars > 0 && budget.spentDollars < 0.01);
  assert.throws(() => booking.settle(), { name: 'InvalidError', message: /closed/ });
  budget.book('a prompt', CALL).release();
  assert.equal(budget.spentTokens, 52);
  assert.ok(new BudgetExceeded('no room') instanceof NegativeError);
});

test('a call of unknown usage takes what was booked', () => {
  for (const usage of [undefined, null, {}, { inputTokens: 12 }, { outputTokens: 7 }, { inputTokens: 0, outputTokens: 0 }]) {
    const budget = new Budget({ tokens: 10_000 });
    budget.book('a prompt', CALL).settle(usage);
    assert.ok((budget.spentTokens ?? 0) > 500);
  }
});

test('a call that fails, or is forgotten, takes what was booked', async () => {
  const budget = new Budget({ tokens: 10_000 });
  const broken = budget.book('a prompt', CALL).during(() => Promise.reject(new Error('the connection broke')));
  await assert.rejects(broken, /the connection broke/);
  const once = budget.spentTokens ?? 0;
  assert.ok(once > 500);
  assert.equal(await budget.book('a prompt', CALL).during(() => 'answer'), 'answer');
  assert.equal(budget.spentTokens, 2 * once);
  await budget.book('a prompt', CALL).during((booking) => booking.settle({ inputTokens: 12, outputTokens: 40 }));
  assert.equal(budget.spentTokens, 2 * once + 52);
  await budget.book('a prompt', CALL).during((booking) => booking.release());
  budget.book('a prompt', CALL)[Symbol.dispose]();
  assert.equal(budget.spentTokens, 3 * once + 52);
});

test('a booking is for one call', async () => {
  const budget = new Budget({ tokens: 10_000 });
  const booking = budget.book('a prompt', CALL);
  const twice = [booking.during(() => 1), booking.during(() => 2)];
  assert.deepEqual((await Promise.allSettled(twice)).map(({ status }) => status), ['fulfilled', 'rejected']);
  const released = budget.book('a prompt', CALL);
  released.release();
  await assert.rejects(released.during(() => 3), { name: 'InvalidError', message: /book each call once/ });
});

test('an unknown price is never zero', () => {
  const call = { model: 'a model that nobody lists', outputTokens: 10 };
  assert.throws(() => new Budget({ dollars: 1 }).book('a prompt', call), { name: 'BudgetExceeded', message: /price/ });
  const budget = new Budget({ dollars: 1, tokens: 10_000 });
  budget.book('a prompt', call).settle({ inputTokens: 5, outputTokens: 5 });
  assert.deepEqual([budget.spentTokens, budget.spentDollars, budget.unpricedCalls], [10, 0, 1]);
  assert.deepEqual([new Budget({ tokens: 1 }).spentDollars, new Budget({ dollars: 1 }).spentTokens], [null, null]);
});

test('cached tokens cost less', () => {
  const dollars = (/** @type {number} */ cacheReadTokens) => {
    const budget = new Budget({ dollars: 1 });
    const booking = budget.book('a prompt', { model: 'gpt-4o', outputTokens: 10, inputTokens: 5_000 });
    booking.settle({ inputTokens: 4_000, outputTokens: 10, cacheReadTokens });
    return budget.spentDollars ?? NaN;
  };
  assert.ok(dollars(4_000) < dollars(0));
  assert.throws(() => dollars(4_001), /more tokens are cached/);
});

test('whatever is not in the bytes of a prompt needs a number', () => {
  const budget = new Budget({ tokens: 10_000 });
  const picture = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }];
  for (const [prompt, words] of /** @type {[unknown, RegExp][]} */ ([
    [picture, /`image_url` are not in its bytes/],
    [{ data: new Uint8Array(9) }, /prompt\.data is bytes.*or book with `inputTokens`/],
    [{ tools: { find: { execute: () => 'text' } } }, /execute is of type `function`/],
    [undefined, /prompt is undefined/],
  ])) {
    assert.throws(() => budget.book(prompt, CALL), { name: 'InvalidError', message: words });
    budget.book(prompt, { ...CALL, inputTokens: 200 }).release();
  }
  budget.book([{ role: 'user', content: 'text', refusal: undefined }], CALL).release();
});

test('wrong caps and figures are refused', () => {
  /** @type {any} */
  const Wrong = Budget;
  for (const caps of [
    {},
    undefined,
    { tokens: -1 },
    { tokens: 2 ** 64 },
    { tokens: 1.5 },
    { tokens: '9' },
    { dollars: -0.1 },
    { dollars: NaN },
    { dollars: '1' },
    { dollar: 1 },
  ]) {
    assert.throws(() => new Wrong(caps), InvalidError, JSON.stringify(caps));
  }
  const budget = new Wrong({ tokens: 10_000 });
  for (const call of [undefined, {}, { ...CALL, outputTokens: -1 }, { ...CALL, output_tokens: 1 }, { outputTokens: 1 }]) {
    assert.throws(() => budget.book('a prompt', call), InvalidError, JSON.stringify(call));
  }
  assert.throws(() => budget.book('a prompt', CALL).settle({ inputTokens: -1, outputTokens: 1 }), InvalidError);
});

test('calls side by side never exceed a budget', async () => {
  const budget = new Budget({ tokens: 50_000 });
  let refused = 0;
  const call = async () => {
    try {
      await budget.book('text', { model: 'gpt-4o', outputTokens: 100 }).during(async (booking) => {
        await new Promise(setImmediate);
        booking.settle({ inputTokens: 10, outputTokens: 100 });
      });
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      refused += 1;
    }
  };
  await Promise.all(Array.from({ length: 800 }, call));
  assert.ok((budget.spentTokens ?? Infinity) <= 50_000 && refused > 0);
});
