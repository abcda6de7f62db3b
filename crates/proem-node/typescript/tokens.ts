/** How many tokens a model makes of a text. */

import { checkText } from './checks.js';
import { native, now } from './native.js';
import { textOf, type Untrusted } from './untrusted.js';

/** A number of tokens. */
export interface TokenCount {
  /** The number. */
  readonly tokens: number;
  /** Whether the model's own tokeniser counted. Otherwise it is an estimate from another one's count. */
  readonly exact: boolean;
}

/** Counts the tokens of a text as a model cuts it: a listed model, a role such as `small`, or any other name. */
export function count(text: string | Untrusted<string>, model: string = 'small'): TokenCount {
  checkText(model, '`model`');
  return now(() => native.countTokens(textOf(text, 'the text'), model));
}
