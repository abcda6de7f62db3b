/** The native module: texts and JSON go in, JSON comes out. */

import { errorOfNative } from './errors.js';

/** Work on texts, which is done at once or by a thread of Node's pool. */
export interface Job {
  now(): string;
  later(): Promise<string>;
}

export interface NativeBooking {
  readonly isOpen: boolean;
  settle(usage: string): void;
  release(): void;
}

export interface NativeBudget {
  readonly spending: string;
  book(call: string): NativeBooking;
}

export interface NativeGuard {
  scan(text: string): Job;
  contain(text: string): Job;
}

export interface NativePrompt {
  readonly trustedInputs: string[];
  render(inputs: string, options: string): Job;
}

export interface NativeToolbox {
  rank(task: string): Job;
}

interface Native {
  Budget: new (caps: string) => NativeBudget;
  Guard: new (key: string) => NativeGuard;
  Prompt: new (text: string) => NativePrompt;
  Toolbox: new (lines: string) => NativeToolbox;
  countTokens(text: string, model: string): Job;
  promptTokenBound(prompt: string): Job;
  decodeAnswer(text: string, schema: string): Job;
}

export const native = loadModule();

/** The module beside this file, or that of the package for this platform. */
function loadModule(): Native {
  const platform = platformName();
  try {
    return require('./proem-engine.node') as Native;
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw problem;
  }
  try {
    return require(`proem-engine-${platform}`) as Native;
  } catch (problem) {
    throw new Error(
      `no module for this platform: install \`proem-engine-${platform}\`, or build the package (see its README)`,
      { cause: problem },
    );
  }
}

function platformName(): string {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') return `${name}-msvc`;
  if (process.platform !== 'linux') return name;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined ? `${name}-musl` : `${name}-gnu`;
}

/** Calls the module. Its failures become errors of this package. */
export function callNative<T>(call: () => T): T {
  try {
    return call();
  } catch (failure) {
    throw errorOfNative(failure);
  }
}

/** Does work at once. */
export function now<T>(begin: () => Job): T {
  return JSON.parse(callNative(() => begin().now())) as T;
}

/** Has a thread of Node's pool do work. */
export async function later<T>(begin: () => Job): Promise<T> {
  try {
    return JSON.parse(await begin().later()) as T;
  } catch (failure) {
    throw errorOfNative(failure);
  }
}
