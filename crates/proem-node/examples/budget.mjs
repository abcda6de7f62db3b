/**
 * How do I cap what the calls of my agent take?
 *
 * 1 call, 52 tokens
 * refused
 */

import { Budget, BudgetExceeded } from 'proem-engine';

const budget = new Budget({ tokens: 3_000 });
await budget.book('Which part leaks?', { model: 'gpt-4o', outputTokens: 100 }).during(async (booking) => {
  // Your client's call stands here. Its response reports the usage.
  booking.settle({ inputTokens: 12, outputTokens: 40 });
});
console.log(`1 call, ${budget.spentTokens} tokens`);
try {
  budget.book('Which part leaks? '.repeat(200), { model: 'gpt-4o', outputTokens: 100 });
} catch (error) {
  if (error instanceof BudgetExceeded) console.log('refused');
}
