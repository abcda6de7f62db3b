/** What can go wrong: one class for each kind, with every problem, its place and its remedy. */

/** A failure. `problems` lists everything that is wrong, each with its place and what to do about it. */
export class ProemError extends Error {
  override name = 'ProemError';
  /** Everything that is wrong. */
  readonly problems: readonly string[];

  constructor(problems: string | readonly string[]) {
    const all = typeof problems === 'string' ? [problems] : [...problems];
    super(all.join('\n'));
    this.problems = all;
  }
}

/** The caller gave something wrong: a prompt, an input, a schema. */
export class InvalidError extends ProemError {
  override name = 'InvalidError';
}

/** The answer is negative: a text has no value that meets the schema, or a budget has no room. */
export class NegativeError extends ProemError {
  override name = 'NegativeError';
}

/** Something outside failed. */
export class OutsideError extends ProemError {
  override name = 'OutsideError';
}

/** A call could exceed a budget, so it must not be made. */
export class BudgetExceeded extends NegativeError {
  override name = 'BudgetExceeded';
}

const KINDS: Record<string, typeof ProemError> = {
  invalid: InvalidError,
  negative: NegativeError,
  exceeded: BudgetExceeded,
  outside: OutsideError,
};

/** @internal The error for a failure of the native module, whose message is JSON. */
export function errorOfNative(failure: unknown): unknown {
  // A test runner's `Error` is of another realm than the module's.
  const message = (failure as { readonly message?: unknown } | null)?.message;
  if (typeof message !== 'string' || !message.startsWith('{"kind":')) return failure;
  const { kind, problems } = JSON.parse(message) as { kind: string; problems: string[] };
  return new (KINDS[kind] ?? ProemError)(problems);
}
