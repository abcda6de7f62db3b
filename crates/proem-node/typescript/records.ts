/**
 * Recorded runs, for reports and dashboards.
 *
 * The program `proem` reads them: it alone knows where the records are, and which forms they had. Everything here has
 * the keys of the program's published schemas; `proem schema` lists them.
 */

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';

import { checkOptions, checkText, typeWords, wholeNumber } from './checks.js';
import { InvalidError, NegativeError, OutsideError } from './errors.js';
import { Untrusted } from './untrusted.js';

/** The package of the program for this platform. */
const PROGRAM_PACKAGE = `proem-${process.platform}-${process.arch}`;

/** The records that are read. */
export interface RecordsOptions {
  /** With `true`, those of all projects of this user. */
  readonly everything?: boolean | undefined;
  /** The binary. Without it, that of the installed package `proem-linux-x64`, or else `proem` from the `PATH`. */
  readonly program?: string | undefined;
}

/** The runs and calls that are meant. */
export interface Selection {
  /** The start of the period: a day such as `2026-11-01`, or `7d`. */
  readonly since?: string | undefined;
  /** An agent, or one of its prompts. */
  readonly prompt?: string | undefined;
}

/** A document by one of the program's schemas. */
export type RecordDocument = Readonly<Record<string, unknown>>;

/** The recorded runs of a project, or of all projects of this user. */
export class Records {
  readonly #program: string;
  readonly #place: readonly string[];

  /** @internal */
  constructor(program: string, place: readonly string[]) {
    this.#program = program;
    this.#place = place;
  }

  /** The newest runs, by the schema `runs-list`: those that asked a model or changed something. */
  async runs(wanted: Selection & { readonly limit?: number | undefined } = {}): Promise<RecordDocument[]> {
    checkOptions(wanted, ['since', 'prompt', 'limit']);
    const limit = String(wholeNumber(wanted.limit ?? 20, '`limit`'));
    return (await this.#document(['runs', 'list', '--limit', limit, ...chosen(wanted)])) as RecordDocument[];
  }

  /**
   * Everything that is kept of a run, by the schema `runs-show`. `run` is its id or the beginning of one.
   * Its texts may be anybody's.
   */
  async run(run: string): Promise<Untrusted<RecordDocument>> {
    checkText(run, 'the run');
    return new Untrusted((await this.#document(['runs', 'show'], ['--', run])) as RecordDocument);
  }

  /**
   * Every call to a model, the oldest first, by the schema `runs-export`. They have figures and names, no text.
   *
   * They are read while the program prints them, so that any number of calls takes little memory. Whatever went wrong is
   * thrown behind the last one.
   */
  async *calls(wanted: Selection = {}): AsyncGenerator<RecordDocument, void, undefined> {
    checkOptions(wanted, ['since', 'prompt']);
    const line = ['--quiet', 'runs', 'export', ...chosen(wanted), ...this.#place];
    for await (const call of printedLines(this.#program, line)) yield JSON.parse(call) as RecordDocument;
  }

  async #document(command: readonly string[], last: readonly string[] = []): Promise<unknown> {
    return JSON.parse(await printedText(this.#program, ['--quiet', ...command, ...this.#place, '--json', ...last]));
  }
}

/**
 * The records of the project around a folder.
 *
 * Throws `OutsideError` if the program can't be started.
 */
export async function open(root: string = '.', options: RecordsOptions = {}): Promise<Records> {
  checkText(root, 'the folder');
  checkOptions(options, ['everything', 'program']);
  const { everything = false, program = installedProgram() } = options;
  if (typeof everything !== 'boolean') {
    throw new InvalidError(`\`everything\` is ${typeWords(everything)}; give \`true\` or \`false\``);
  }
  checkText(program, '`program`');
  await printedText(program, ['--version']);
  return new Records(program, [`--root=${root}`, ...(everything ? ['--all'] : [])]);
}

function installedProgram(): string {
  try {
    return require.resolve(`${PROGRAM_PACKAGE}/bin/proem`);
  } catch {
    return 'proem';
  }
}

function chosen({ since, prompt }: Selection): string[] {
  const given = Object.entries({ since, prompt }).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => {
    checkText(value, `\`${name}\``);
    return `--${name}=${value}`;
  });
}

async function printedText(program: string, line: readonly string[]): Promise<string> {
  const lines = [];
  for await (const printed of printedLines(program, line)) lines.push(printed);
  return lines.join('\n');
}

/** The lines that the program prints. A caller who wants no more of them ends it. */
async function* printedLines(program: string, line: readonly string[]): AsyncGenerator<string, void, undefined> {
  const child = spawn(program, line, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise<number | string | Error>((resolve) =>
    child.on('error', resolve).on('close', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  );
  const lines = createInterface({ input: child.stdout.setEncoding('utf8'), crlfDelay: Infinity });
  const printed = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      // Only a caller who waits keeps the process alive: one may drop these lines without a word.
      setWaiting(child, 'ref');
      const { value, done } = await printed.next();
      if (done === true) break;
      setWaiting(child, 'unref');
      yield value;
    }
    checkEnd(program, await ended, said);
  } finally {
    child.kill();
  }
}

function setWaiting(child: ChildProcessByStdio<null, Readable, Readable>, way: 'ref' | 'unref'): void {
  for (const part of [child, child.stdout as Socket, child.stderr as Socket]) part[way]();
}

function checkEnd(program: string, end: number | string | Error, said: string): void {
  if (end === 0) return;
  if (end instanceof Error) {
    const remedy = `install the package \`${PROGRAM_PACKAGE}\`, or name its place as \`program\``;
    throw new OutsideError(`the program \`${program}\` can't be started: ${end.message}; ${remedy}`);
  }
  const problems = said.split('\n').filter((line) => line !== '');
  const words = problems.map((line) => line.replace(/^error: /, ''));
  const Failure = end === 1 ? NegativeError : end === 2 ? InvalidError : OutsideError;
  const how = typeof end === 'string' ? end : `code ${end}`;
  throw new Failure(words.length > 0 ? words : [`the program ended with ${how}`]);
}
