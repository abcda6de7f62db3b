/** The guard: attacks in text from outside, and its containment. */

import { checkOptions, keyBytes } from './checks.js';
import { callNative, later, native, now, type NativeGuard } from './native.js';
import { textOf, type Untrusted } from './untrusted.js';

/** One finding of the guard. */
export interface Finding {
  /** The rule, such as `override/ignore`. */
  readonly rule: string;
  /** The harm it could do. */
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  /** Its first place in the text, in JavaScript's units: `text.slice(start, end)`. */
  readonly start: number;
  /** The place behind its last. */
  readonly end: number;
}

/** The guard's findings in one text. */
export interface ScanReport {
  /** `allow` lets the text in, contained. `flag` marks it as suspicious. The others keep it out. */
  readonly verdict: 'allow' | 'flag' | 'quarantine' | 'block';
  /** How suspicious it is, 0 to 1. One harmless text in a hundred is above 0.5. */
  readonly score: number;
  /** The findings, by place. */
  readonly findings: readonly Finding[];
  /** The unread parts, in words. The verdict counts them. */
  readonly unread: readonly string[];
}

/** A text from outside as it may stand in a user message of a prompt. */
export interface Containment {
  /** The text between delimiters whose end nobody can write who lacks the key. `(withheld)` if it is kept out. */
  readonly text: string;
  /** Whether the guard kept the text out. */
  readonly withheld: boolean;
  /** The guard's findings in the text. */
  readonly report: ScanReport;
}

/** The choices of a guard. */
export interface GuardOptions {
  /**
   * A secret of 32 random bytes: processes that share it write the same delimiters. Otherwise each process makes a
   * secret of its own.
   */
  readonly key?: Uint8Array | undefined;
}

/** Looks for attacks in text from outside, and makes such text fit for a prompt. */
export class Guard {
  readonly #native: NativeGuard;

  constructor(options: GuardOptions = {}) {
    checkOptions(options, ['key']);
    const key = JSON.stringify(keyBytes(options.key));
    this.#native = callNative(() => new native.Guard(key));
  }

  /** Looks for attacks in a text: rules over every reading of it, and a learned scorer of sentences. */
  scan(text: string | Untrusted<string>): ScanReport {
    return now(() => this.#native.scan(textOf(text, 'the text')));
  }

  /** The same in a thread of Node's pool, for long texts. */
  async scanAsync(text: string | Untrusted<string>): Promise<ScanReport> {
    return later(() => this.#native.scan(textOf(text, 'the text')));
  }

  /**
   * Puts a text from outside between delimiters, for a user message of a prompt. Imitations of delimiters and roles in
   * it are taken apart.
   */
  contain(text: string | Untrusted<string>): Containment {
    return now(() => this.#native.contain(textOf(text, 'the text')));
  }

  /** The same in a thread of Node's pool, for long texts. */
  async containAsync(text: string | Untrusted<string>): Promise<Containment> {
    return later(() => this.#native.contain(textOf(text, 'the text')));
  }
}
