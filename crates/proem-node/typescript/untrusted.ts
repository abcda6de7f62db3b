/** Values from outside, which keep their label. */

import { inspect } from 'node:util';

import { checkText } from './checks.js';
import { InvalidError } from './errors.js';

/**
 * A value from outside: a mail, a page, a tool's result, a model's answer.
 *
 * It goes into a prompt as an input that is contained, never as one that the prompt declares trusted. It is no text:
 * making a text or JSON of it is an error, so that it gets into no prompt by accident.
 */
export class Untrusted<Value> {
  readonly #value: Value;

  /** Takes the value. */
  constructor(value: Value) {
    this.#value = value;
  }

  /** The value itself. Whoever reads it keeps track of its origin from there on. */
  get value(): Value {
    return this.#value;
  }

  /** Whether a value is one, and not an object that only inherits from one. */
  static is(value: unknown): value is Untrusted<unknown> {
    return typeof value === 'object' && value !== null && #value in value;
  }

  toString(): never {
    const remedy = 'contain it with `new Guard().contain(…).text`, or read its `value`';
    throw new InvalidError(`this value is from outside; ${remedy}`);
  }

  toJSON(): never {
    return this.toString();
  }

  [Symbol.toPrimitive](): never {
    return this.toString();
  }

  /** @internal */
  [inspect.custom](): string {
    return `${this.constructor.name}(<${typeof this.#value}>)`;
  }
}

/** The text of an argument that may be from outside. */
export function textOf(value: string | Untrusted<string>, what: string): string {
  const text: unknown = Untrusted.is(value) ? value.value : value;
  checkText(text, what);
  return text;
}

/** The text of an argument that the caller has to vouch for. */
export function ownText(value: string, what: string): string {
  if (Untrusted.is(value)) {
    throw new InvalidError(`${what} is from outside; give a text that you vouch for`);
  }
  checkText(value, what);
  return value;
}
