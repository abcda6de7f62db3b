/** Puts the module that cargo has built beside the compiled types. */

import { copyFileSync } from 'node:fs';

/** @type {Partial<Record<NodeJS.Platform, string>>} */
const NAMES = { darwin: 'libproem_node.dylib', win32: 'proem_node.dll' };

copyFileSync(`target/release/${NAMES[process.platform] ?? 'libproem_node.so'}`, 'dist/proem-engine.node');
