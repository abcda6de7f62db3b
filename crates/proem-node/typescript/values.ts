/** JavaScript's values as values of JSON. */

import { types } from 'node:util';

import { bytesError, checkText, isBytes, typeWords } from './checks.js';
import { InvalidError } from './errors.js';
import { Untrusted } from './untrusted.js';

/** The deepest nesting, as for a model's answers. A value that contains itself is deeper. */
const DEEPEST = 128;
/** The most memory of a value, about, in bytes. Aliases of YAML make a larger one of a few lines. */
const LARGEST = 2 ** 26;
/** The memory of a value beside its text, about, in bytes. */
const EACH = 64;

/** A value in the types of JSON, and whether a part of it is marked as from outside. */
export interface PlainValue {
  readonly plain: unknown;
  readonly isFromOutside: boolean;
}

/** The meaning of a field that is `undefined`: a mistake, or, as on the wire, no field. */
export type UndefinedFields = 'refused' | 'omitted';

/** The value in the types of JSON. `place` names it in errors. */
export function plainValue(value: unknown, place: string, fields: UndefinedFields = 'refused'): PlainValue {
  const walk = new Walk(fields);
  const plain = walk.plain(value, place, 0);
  return { plain, isFromOutside: walk.metOutside };
}

/** The inputs of a prompt as values of JSON, and the names of those that are from outside. */
export function plainInputs(inputs: unknown): { plain: Record<string, unknown>; outside: string[] } {
  if (Untrusted.is(inputs)) {
    const { plain } = plainInputs(inputs.value);
    return { plain, outside: Object.keys(plain) };
  }
  if (!isRecord(inputs)) throw new InvalidError(`the inputs are ${typeWords(inputs)}; give a plain object`);
  const outside: string[] = [];
  const entries = Object.entries(inputs).map(([name, value]) => {
    checkText(name, 'a key of the inputs');
    const { plain, isFromOutside } = plainValue(value, `input \`${name}\``);
    if (isFromOutside) outside.push(name);
    return [name, plain];
  });
  return { plain: Object.fromEntries(entries) as Record<string, unknown>, outside };
}

/** A number that JavaScript has rounded, or may have. */
export function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** One value's parts. */
class Walk {
  metOutside = false;
  #size = 0;

  constructor(readonly undefinedFields: UndefinedFields) {}

  plain(value: unknown, place: string, depth: number): unknown {
    if (depth > DEEPEST) {
      throw new InvalidError(`${place.slice(0, 80)}… nests deeper than ${DEEPEST} levels; give a flatter value`);
    }
    this.#size += EACH + (typeof value === 'string' ? value.length : 0);
    if (this.#size > LARGEST) {
      const remedy = 'give less, or no aliases';
      throw new InvalidError(`${place.slice(0, 80)}… is beyond the ${LARGEST >> 20} MiB of a value; ${remedy}`);
    }
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'number') return checkedNumber(value, place);
    if (typeof value === 'string') {
      checkText(value, place);
      return value;
    }
    if (Untrusted.is(value)) {
      this.metOutside = true;
      return this.plain(value.value, place, depth + 1);
    }
    if (Array.isArray(value)) {
      return Array.from(value, (item: unknown, index) => this.plain(item, `${place}[${index}]`, depth + 1));
    }
    if (!isRecord(value)) throw refusal(value, place);
    const fields = Object.entries(value).filter(
      ([, item]) => item !== undefined || this.undefinedFields === 'refused',
    );
    return Object.fromEntries(
      fields.map(([name, item]) => {
        checkText(name, `a key of ${place}`);
        return [name, this.plain(item, `${place}.${name}`, depth + 1)];
      }),
    );
  }
}

/** Whether a value is an object of fields and nothing else: a class has state and methods that JSON would lose. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Also the `Object` of another realm, such as a test runner's.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function checkedNumber(value: number, place: string): number {
  if (!Number.isFinite(value)) {
    throw new InvalidError(`${place} is ${value}, and JSON has no such number; give \`null\` or a text`);
  }
  if (isRounded(value)) {
    throw new InvalidError(`${place} is beyond 2^53, where JavaScript rounds whole numbers; give it as a text`);
  }
  return value;
}

function refusal(value: unknown, place: string): InvalidError {
  if (value === undefined) return new InvalidError(`${place} is undefined; give \`null\`, or leave it out`);
  if (typeof value === 'bigint') return new InvalidError(`${place} is a BigInt; give it as a text`);
  if (types.isDate(value)) return new InvalidError(`${place} is a Date; give a text, such as \`.toISOString()\``);
  if (isBytes(value)) return bytesError(place);
  const remedy = 'give plain objects, lists, texts, numbers, booleans or `null`';
  return new InvalidError(`${place} is ${typeWords(value)}; ${remedy}`);
}
