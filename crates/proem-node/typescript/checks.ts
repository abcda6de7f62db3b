/** Checks of arguments. They also know values of other realms, such as a test runner's. */

import { types } from 'node:util';

import { InvalidError } from './errors.js';

/** Half a pair of UTF-16, which is no character. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Refuses anything but text. No model can read a lone surrogate. */
export function checkText(text: unknown, what: string): asserts text is string {
  if (isBytes(text)) throw bytesError(what);
  if (typeof text !== 'string') throw new InvalidError(`${what} is ${typeWords(text)}; give a text`);
  const place = text.search(LONE_SURROGATE);
  if (place >= 0) {
    const remedy = "replace it, such as with `.replace(/\\p{Surrogate}/gu, '\\ufffd')`";
    throw new InvalidError(`${what} has a lone surrogate at unit ${place}; ${remedy}`);
  }
}

/** Whether a value is bytes in any of their forms. */
export function isBytes(value: unknown): boolean {
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
}

/** Bytes where text belongs. */
export function bytesError(what: string): InvalidError {
  return new InvalidError(`${what} is bytes; decode them, such as with \`new TextDecoder().decode(…)\``);
}

/** A number of tokens. */
export function wholeNumber(value: unknown, what: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new InvalidError(`${what} is ${valueWords(value)}; give a whole number of at least 0`);
  }
  return value as number;
}

/** The secret behind delimiters as a list of bytes. */
export function keyBytes(key: unknown): number[] | null {
  if (key === undefined || key === null) return null;
  if (!types.isUint8Array(key)) throw new InvalidError(`\`key\` is ${typeWords(key)}; give 32 random bytes`);
  if (key.length !== 32) throw new InvalidError(`\`key\` has ${key.length} bytes; give 32 random bytes`);
  return [...key];
}

/** Refuses options that nobody reads: a misspelt one would be a choice that is silently not made. */
export function checkOptions(options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidError(`the options are ${typeWords(options)}; give an object`);
  }
  const unknown = Object.keys(options).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const known = names.map((name) => `\`${name}\``).join(', ');
    throw new InvalidError(unknown.map((name) => `\`${name.slice(0, 40)}\` is no option here; the options are ${known}`));
  }
}

/** The type of a value, for an error. */
export function typeWords(value: unknown): string {
  if (value === null || value === undefined) return `${value}`;
  const name: unknown = typeof value === 'object' ? value.constructor?.name : typeof value;
  return `of type \`${typeof name === 'string' && name !== '' ? name.slice(0, 40) : 'object'}\``;
}

function valueWords(value: unknown): string {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
    ? `${value}`.slice(0, 40)
    : typeWords(value);
}
