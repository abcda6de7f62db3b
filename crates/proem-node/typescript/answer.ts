/** Checked values of models' answers. */

import { typeWords } from './checks.js';
import { InvalidError, NegativeError } from './errors.js';
import { later, native, now, type Job } from './native.js';
import { textOf, Untrusted } from './untrusted.js';
import { isRounded, plainValue } from './values.js';

/** A value of a model's answer. It meets the schema, and it is from outside, as everything that a model says. */
export class Decoded<Value> extends Untrusted<Value> {
  /** What had to be repaired to read it, a sentence each. */
  readonly repairs: readonly string[];

  /** Takes the value, and what was repaired. */
  constructor(value: Value, repairs: readonly string[]) {
    super(value);
    this.repairs = repairs;
  }
}

/** A part of a value that a schema refuses. */
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Validation =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** A schema by the conventions of standardschema.dev that can say itself as JSON Schema, such as one of Zod. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly vendor: string;
    readonly types?: { readonly output: Output } | undefined;
    validate(value: unknown): Validation | PromiseLike<Validation>;
    readonly jsonSchema: { input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown> };
  };
}

/** The type of the values that a schema lets pass. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

interface PlainDecoded {
  readonly value: unknown;
  readonly repairs: string[];
}

/**
 * Reads the value that a schema asks for from the text of a model's answer: out of a code fence, from between sentences,
 * with a trailing comma. A schema of Zod makes its own checks and changes afterwards.
 *
 * Throws `NegativeError` if there is no such value, if it could mean two things, or if it was cut off.
 */
export function decode<Schema extends StandardSchema>(
  text: string | Untrusted<string>,
  schema: Schema,
): Decoded<OutputOf<Schema>>;
export function decode(text: string | Untrusted<string>, schema: object): Decoded<unknown>;
export function decode(text: string | Untrusted<string>, schema: object): Decoded<unknown> {
  const { value, repairs } = now<PlainDecoded>(() => begin(text, schema));
  const checked = validationOf(schema, value);
  if (isThenable(checked)) {
    // Nobody waits for it, and a rejection that nobody hears ends the process. Zod checks again in this way, too, if a
    // check threw.
    checked.then(
      () => undefined,
      () => undefined,
    );
    throw new InvalidError('a check of the schema threw, or is asynchronous; use `decodeAsync`, which says which');
  }
  return new Decoded(checkedValue(checked), repairs);
}

/** The same in a thread of Node's pool, for long answers and for schemas whose own checks are asynchronous. */
export function decodeAsync<Schema extends StandardSchema>(
  text: string | Untrusted<string>,
  schema: Schema,
): Promise<Decoded<OutputOf<Schema>>>;
export function decodeAsync(text: string | Untrusted<string>, schema: object): Promise<Decoded<unknown>>;
export async function decodeAsync(text: string | Untrusted<string>, schema: object): Promise<Decoded<unknown>> {
  const { value, repairs } = await later<PlainDecoded>(() => begin(text, schema));
  return new Decoded(checkedValue(await settledValidation(validationOf(schema, value))), repairs);
}

async function settledValidation(checked: Validation | PromiseLike<Validation>): Promise<Validation> {
  try {
    return await checked;
  } catch (error) {
    throw checkFailure(error);
  }
}

function checkFailure(error: unknown): NegativeError {
  return new NegativeError(`a check of the schema failed: ${messageOf(error)}`);
}

function isThenable(value: object): value is PromiseLike<Validation> {
  return 'then' in value && typeof value.then === 'function';
}

function begin(text: string | Untrusted<string>, schema: object): Job {
  return native.decodeAnswer(textOf(text, 'the answer'), JSON.stringify(jsonSchemaOf(schema)));
}

/** The JSON Schema of what an answer should be. */
function jsonSchemaOf(schema: unknown): unknown {
  if (!isStandard(schema)) {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new InvalidError(`the schema is ${typeWords(schema)}; give a JSON Schema or a schema of Zod`);
    }
    return plainValue(schema, 'the schema', 'omitted').plain;
  }
  const { vendor, jsonSchema } = schema['~standard'];
  if (typeof jsonSchema?.input !== 'function') {
    throw new InvalidError(`this schema of \`${vendor}\` gives no JSON Schema; give its JSON Schema itself`);
  }
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (error) {
    throw new InvalidError(`the schema of \`${vendor}\` has no JSON Schema: ${messageOf(error)}`);
  }
}

/** What the schema's own checks, which have the last word, make of a decoded value. */
function validationOf(schema: object, value: unknown): Validation | PromiseLike<Validation> {
  const place = roundedPlace(value, '');
  if (place !== undefined) {
    const problem = 'a whole number beyond 2^53, which JavaScript rounds; ask for it as a text';
    throw new NegativeError(`${place}: ${problem}`);
  }
  if (!isStandard(schema)) return { value };
  try {
    return schema['~standard'].validate(value);
  } catch (error) {
    throw checkFailure(error);
  }
}

function checkedValue(checked: Validation): unknown {
  if (checked.issues === undefined) return checked.value;
  throw new NegativeError(checked.issues.map(({ message, path = [] }) => `${pointer(path)}: ${message}`));
}

function isStandard(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard = (schema as { readonly '~standard'?: unknown })['~standard'];
  return typeof standard === 'object' && standard !== null;
}

/** The place of the first number that JavaScript has rounded. */
function roundedPlace(value: unknown, place: string): string | undefined {
  if (typeof value === 'number') return isRounded(value) ? place : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const rounded = roundedPlace(item, `${place}/${name}`);
    if (rounded !== undefined) return rounded;
  }
  return undefined;
}

function pointer(path: NonNullable<Issue['path']>): string {
  return path.map((part) => `/${String(typeof part === 'object' ? part.key : part)}`).join('') || 'the value';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
