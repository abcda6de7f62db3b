/** Caps on what the calls of a process take. */

import { checkOptions, checkText, wholeNumber } from './checks.js';
import { InvalidError } from './errors.js';
import { callNative, native, now, type NativeBooking, type NativeBudget } from './native.js';
import { plainValue } from './values.js';

/** The caps of a budget. */
export interface Caps {
  /** The most tokens of prompts and answers together. */
  readonly tokens?: number | undefined;
  /** The most dollars, by the providers' list prices. */
  readonly dollars?: number | undefined;
}

/** A call before it is made. */
export interface PlannedCall {
  /** The model that is called. */
  readonly model: string;
  /** The cap on the answer that you send along. */
  readonly outputTokens: number;
  /** The most tokens that the prompt can have, for a prompt with pictures or files. */
  readonly inputTokens?: number | undefined;
}

/** The tokens of a call that its provider reported. */
export interface Usage {
  /** All tokens of the prompt, cached ones included. */
  readonly inputTokens?: number | null | undefined;
  readonly outputTokens?: number | null | undefined;
  readonly cacheReadTokens?: number | null | undefined;
  readonly cacheWriteTokens?: number | null | undefined;
}

/** What one call has booked. */
export class Booking {
  readonly #native: NativeBooking;
  #isBegun = false;

  /** @internal */
  constructor(booking: NativeBooking) {
    this.#native = booking;
  }

  /** Whether the call is neither settled nor given back. */
  get isOpen(): boolean {
    return this.#native.isOpen;
  }

  /**
   * Settles the call by the usage that its provider reported. If the tokens of its prompt or its answer are missing, or
   * none were read, the call takes what was booked.
   */
  settle(usage?: Usage | null): void {
    const plain = JSON.stringify(plainUsage(usage));
    callNative(() => this.#native.settle(plain));
  }

  /** Gives the booking back: the call was not made. */
  release(): void {
    this.#native.release();
  }

  /** Makes the call, once. One that fails, or was not settled inside, takes what was booked. */
  async during<T>(call: (booking: Booking) => T | PromiseLike<T>): Promise<T> {
    if (this.#isBegun || !this.isOpen) throw new InvalidError('this booking is used; book each call once');
    this.#isBegun = true;
    try {
      return await call(this);
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** For `using`: a call that was not settled takes what was booked. */
  [Symbol.dispose](): void {
    if (this.isOpen) this.settle();
  }
}

/**
 * Caps on what the calls of a process take. Book before each call, and settle it by its usage.
 *
 * A call whose price is unknown needs a cap on tokens. Dollars follow the providers' list prices.
 */
export class Budget {
  readonly #native: NativeBudget;

  /** Caps tokens of prompts and answers, dollars, or both. */
  constructor(caps: Caps) {
    checkOptions(caps, ['tokens', 'dollars']);
    const { tokens, dollars } = caps;
    if (dollars !== undefined && !Number.isFinite(dollars)) {
      throw new InvalidError(`\`dollars\` is ${String(dollars).slice(0, 40)}; give an amount of at least 0`);
    }
    const plain = JSON.stringify({
      tokens: tokens === undefined ? null : wholeNumber(tokens, '`tokens`'),
      dollars: dollars ?? null,
    });
    this.#native = callNative(() => new native.Budget(plain));
  }

  /**
   * Books the most that a call can take. Throws `BudgetExceeded` if a cap has no room for it.
   *
   * `prompt` is everything that goes over the wire: a text, or a list of messages, with the tools. No tokeniser makes
   * more tokens of a text than it has bytes. For pictures and files give the most `inputTokens` that the call can have.
   */
  book(prompt: unknown, call: PlannedCall): Booking {
    checkOptions(call, ['model', 'outputTokens', 'inputTokens']);
    checkText(call.model, '`model`');
    const { inputTokens } = call;
    const plain = JSON.stringify({
      model: call.model,
      input_tokens: inputTokens === undefined ? tokenBound(prompt) : wholeNumber(inputTokens, '`inputTokens`'),
      output_tokens: wholeNumber(call.outputTokens, '`outputTokens`'),
    });
    return new Booking(callNative(() => this.#native.book(plain)));
  }

  /** The settled tokens. `null` without a cap on tokens. */
  get spentTokens(): number | null {
    return this.#spending().tokens;
  }

  /** The settled dollars of all calls with a known price. `null` without a cap on dollars. */
  get spentDollars(): number | null {
    return this.#spending().dollars;
  }

  /** How many settled calls have no known price. */
  get unpricedCalls(): number {
    return this.#spending().unpriced_calls;
  }

  #spending() {
    return JSON.parse(this.#native.spending) as { tokens: number | null; dollars: number | null; unpriced_calls: number };
  }
}

function tokenBound(prompt: unknown): number {
  try {
    const plain = JSON.stringify(plainValue(prompt, 'prompt', 'omitted').plain);
    return now(() => native.promptTokenBound(plain));
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new InvalidError(error.problems.map((problem) => `${problem}; or book with \`inputTokens\``));
  }
}

/** `null` if a figure is missing that nobody may guess. */
function plainUsage(usage: Usage | null | undefined) {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage ?? {};
  if (inputTokens === undefined || inputTokens === null) return null;
  if (outputTokens === undefined || outputTokens === null) return null;
  return {
    input_tokens: wholeNumber(inputTokens, '`inputTokens`'),
    output_tokens: wholeNumber(outputTokens, '`outputTokens`'),
    cache_read_tokens: wholeNumber(cacheReadTokens ?? 0, '`cacheReadTokens`'),
    cache_write_tokens: wholeNumber(cacheWriteTokens ?? 0, '`cacheWriteTokens`'),
  };
}
