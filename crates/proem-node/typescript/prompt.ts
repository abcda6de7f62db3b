/** Prompts, and what they render to. */

import { readFileSync } from 'node:fs';

import { checkOptions, checkText, keyBytes, typeWords, wholeNumber } from './checks.js';
import { InvalidError } from './errors.js';
import { callNative, later, native, now, type Job, type NativePrompt } from './native.js';
import { ownText } from './untrusted.js';
import { plainInputs } from './values.js';

/** One message, as clients take it. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A rendered prompt with its account. */
export interface Rendered {
  /** All of it, in the order in which a model reads it. */
  readonly text: string;
  /** Its messages. */
  readonly messages: Message[];
  /** The number of tokens of all messages, by the model's tokeniser. */
  readonly tokens: number;
  /** The sections that were shortened or left out, each with the reason. */
  readonly shortened: readonly string[];
  /** The forecast of the provider's cache, as a sentence. */
  readonly cache: string;
  /** The guard's effect on texts from outside that did not go in unchanged, a sentence each. */
  readonly notes: readonly string[];
  /** The account of every token, by section. */
  readonly report: Readonly<Record<string, unknown>>;
}

/** The choices of a rendering. */
export interface RenderOptions {
  /** The model whose tokens are counted. */
  readonly model?: string | undefined;
  /** The budget into which sections shrink. */
  readonly maxTokens?: number | undefined;
  /** A secret of 32 random bytes: processes that share it write the same delimiters. */
  readonly key?: Uint8Array | undefined;
  /** With `true`, no input is trusted, whatever the prompt declares. */
  readonly untrusted?: boolean | undefined;
}

type PlainRendered = Omit<Rendered, 'messages'> & { messages: [Message['role'], string][] };

/** A prompt: its template, its sections with their trust, its inputs, and what its answer must be. */
export class Prompt {
  readonly #native: NativePrompt;
  /** The inputs that the prompt declares trusted. Texts of all others are contained. */
  readonly trustedInputs: ReadonlySet<string>;

  private constructor(text: string) {
    this.#native = callNative(() => new native.Prompt(text));
    this.trustedInputs = new Set(this.#native.trustedInputs);
  }

  /**
   * Reads a prompt from the text of a file, which gives orders: nothing from outside belongs in it.
   *
   * Throws `InvalidError` with everything that is wrong, by line.
   */
  static parse(text: string): Prompt {
    return new Prompt(ownText(text, 'the prompt'));
  }

  /** Reads a prompt file. */
  static read(path: string | URL): Prompt {
    return Prompt.parse(readFileSync(path, 'utf8'));
  }

  /**
   * Renders the prompt with an object of its inputs.
   *
   * An `Untrusted` value or a `Decoded` answer is refused where the prompt declares the input trusted.
   */
  render(inputs: object = {}, options: RenderOptions = {}): Rendered {
    return renderedOf(now(() => this.#begin(inputs, options)));
  }

  /** The same in a thread of Node's pool, for long texts. */
  async renderAsync(inputs: object = {}, options: RenderOptions = {}): Promise<Rendered> {
    return renderedOf(await later(() => this.#begin(inputs, options)));
  }

  #begin(inputs: object, options: RenderOptions): Job {
    const choices = plainOptions(options);
    const { plain, outside } = plainInputs(inputs);
    const wrong = choices.untrusted ? [] : outside.filter((name) => this.trustedInputs.has(name)).sort();
    if (wrong.length > 0) {
      const remedy = 'declare it untrusted, or give a text that you vouch for';
      throw new InvalidError(
        wrong.map((name) => `input \`${name}\` is declared trusted, and its value is from outside; ${remedy}`),
      );
    }
    return this.#native.render(JSON.stringify(plain), JSON.stringify(choices));
  }
}

function plainOptions(options: RenderOptions) {
  checkOptions(options, ['model', 'maxTokens', 'key', 'untrusted']);
  const { model, maxTokens, key, untrusted = false } = options;
  if (model !== undefined) checkText(model, '`model`');
  if (typeof untrusted !== 'boolean') {
    throw new InvalidError(`\`untrusted\` is ${typeWords(untrusted)}; give \`true\` or \`false\``);
  }
  const most = maxTokens === undefined ? null : wholeNumber(maxTokens, '`maxTokens`');
  return { model: model ?? null, max_tokens: most, key: keyBytes(key), untrusted };
}

function renderedOf({ messages, ...rest }: PlainRendered): Rendered {
  return { ...rest, messages: messages.map(([role, content]) => ({ role, content })) };
}
