/** The tools that a task needs. */

import { checkOptions, typeWords, wholeNumber } from './checks.js';
import { InvalidError } from './errors.js';
import { callNative, native, now, type NativeToolbox } from './native.js';
import { textOf, type Untrusted } from './untrusted.js';
import { plainValue } from './values.js';

/** A tool with how likely a task needs it. */
export interface RankedTool {
  /**
   * Its name as you gave it. Several that differ only in signs that no provider takes have names that tell them apart.
   */
  readonly name: string;
  /** How likely the task needs it: 0 to 1, calibrated. */
  readonly probability: number;
  /** Whether that reaches the threshold below which a tool is better left out. */
  readonly fits: boolean;
}

/** The tools that an agent has, ready to be ranked for many tasks. */
export class Toolbox {
  readonly #native: NativeToolbox;

  /**
   * Takes tools with `name` and `description`, and optionally `parameters` and `examples`. Tools in the form that
   * OpenAI's clients take, below `function`, are read as well.
   */
  constructor(tools: Iterable<object>) {
    if (typeof tools !== 'object' || tools === null || !(Symbol.iterator in tools)) {
      throw new InvalidError(`the tools are ${typeWords(tools)}; give a list of them`);
    }
    const lines = Array.from(tools, (tool, index) => {
      const { plain } = plainValue(tool, `tool ${index + 1}`, 'omitted');
      return JSON.stringify((plain as { function?: unknown } | null)?.function ?? plain);
    });
    this.#native = callNative(() => new native.Toolbox(lines.join('\n')));
  }

  /** All tools, the likeliest first. For a task that needs none of them, none fits. */
  rank(task: string | Untrusted<string>): RankedTool[] {
    return now(() => this.#native.rank(textOf(task, 'the task')));
  }
}

/** The names of the tools that a task needs, the likeliest first, at most ten unless you say otherwise. */
export function select(
  task: string | Untrusted<string>,
  tools: Iterable<object>,
  options: { readonly most?: number | undefined } = {},
): string[] {
  checkOptions(options, ['most']);
  const most = wholeNumber(options.most ?? 10, '`most`');
  const fitting = new Toolbox(tools).rank(task).filter((tool) => tool.fits);
  return fitting.slice(0, most).map((tool) => tool.name);
}
