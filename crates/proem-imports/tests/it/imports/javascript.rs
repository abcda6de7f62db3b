use crate::imports::{check, read};

#[test]
fn paths_lead_to_files_with_and_without_endings() {
    check(
        &[
            (
                "src/a.ts",
                "import { b } from './b.js';\nimport c from './c';\nimport './style.css';\nb(); b(); new c();\n",
            ),
            ("src/b.ts", "export function b() {}\n"),
            ("src/c/index.tsx", "export default class C {}\n"),
            (
                "src/d.js",
                "const { b: x } = require('./b');\nconst e = await import(`./e`);\nimport('./f');\nx(); e.go();\n",
            ),
            ("src/e.mjs", "export const go = 1;\n"),
            ("src/f.jsx", "import React from 'react';\nimport B from './gone';\nimport y from '@/y';\n"),
            ("src/style.css", ""),
        ],
        &[
            "src/a.ts -> src/b.ts 2",
            "src/a.ts -> src/c/index.tsx 1",
            "src/a.ts -> src/style.css ?",
            "src/d.js -> src/b.ts 1",
            "src/d.js -> src/e.mjs 1",
            "src/d.js -> src/f.jsx ?",
            "src/f.jsx: 2 unresolved",
            "src/f.jsx: 1 external",
        ],
    );
}

#[test]
fn imports_of_types_are_marked() {
    check(
        &[
            (
                "a.ts",
                "import type { T } from './t';\nimport { type U } from './u';\nimport { V, type W } from './v';\nV();",
            ),
            ("b.ts", "import { T } from './t';\nexport type { U } from './u';\nimport v = require('./v');\n"),
            ("t.ts", "export type T = 1;\n"),
            ("u.ts", "export interface U {}\n"),
            ("v.ts", "export function V() {}\nexport type W = 2;\n"),
        ],
        &[
            "a.ts -> t.ts types",
            "a.ts -> u.ts types",
            "a.ts -> v.ts 1",
            "b.ts -> t.ts",
            "b.ts -> u.ts types",
            "b.ts -> v.ts",
        ],
    );
}

#[test]
fn barrels_are_seen_through() {
    check(
        &[
            (
                "app.tsx",
                "import { Button, icon as i } from './ui';\nimport * as ui from './ui';\ni(); ui.Modal(); <Button/>;\n",
            ),
            ("ui/button.tsx", "export default function Button() {}\n"),
            ("ui/icons.ts", "export const icon = 1, other = 2;\n"),
            (
                "ui/index.ts",
                "export { default as Button } from './button';\nexport * from './icons';\nexport * from './deep';\n",
            ),
            ("ui/deep/index.ts", "import { Modal } from './modal';\nexport { Modal };\n"),
            ("ui/deep/modal.ts", "class Modal {}\nexport { Modal };\n"),
        ],
        &[
            "app.tsx -> ui/button.tsx 1",
            "app.tsx -> ui/icons.ts 1",
            "app.tsx -> ui/index.ts 1",
            "app.tsx -> ui/deep/modal.ts 1",
            "ui/index.ts -> ui/button.tsx",
            "ui/index.ts -> ui/icons.ts ?",
            "ui/index.ts -> ui/deep/index.ts ?",
            "ui/deep/index.ts -> ui/deep/modal.ts",
        ],
    );
}

#[test]
fn configured_paths_and_packages_of_the_repository_are_followed() {
    check(
        &[
            (
                "tsconfig.base.json",
                r#"{ "compilerOptions": { "baseUrl": ".", "paths": { "@app/*": ["apps/web/*"] }, }, } // x"#,
            ),
            ("apps/web/tsconfig.json", r#"{ "extends": "../../tsconfig.base", /* c */ "compilerOptions": {} }"#),
            (
                "apps/web/main.ts",
                "import '@app/local';\nimport { f } from '@org/core';\nimport x from '@org/core/deep';\nf();\nimport 'shared/x';\n",
            ),
            ("apps/web/local.ts", ""),
            ("packages/core/package.json", r#"{ "name": "@org/core", "main": "./dist/index.js" }"#),
            ("packages/core/src/index.ts", "export function f() {}\n"),
            ("packages/core/src/deep.ts", "export default 1;\n"),
            (
                "packages/esm/package.json",
                r#"{ "name": "esm", "exports": { ".": { "import": "./lib/main.js" }, "./x/*": "./lib/*.js" } }"#,
            ),
            ("packages/esm/lib/main.js", "import 'esm/x/y';\nimport 'esm/no/z';\n"),
            ("packages/esm/lib/y.js", "import 'esm';\n"),
            ("shared/x.js", ""),
        ],
        &[
            "apps/web/main.ts -> apps/web/local.ts ?",
            "apps/web/main.ts -> packages/core/src/index.ts 1",
            "apps/web/main.ts -> packages/core/src/deep.ts",
            "apps/web/main.ts -> shared/x.js ?",
            "packages/esm/lib/main.js -> packages/esm/lib/y.js ?",
            "packages/esm/lib/y.js -> packages/esm/lib/main.js ?",
            "packages/esm/lib/main.js: 1 unresolved",
        ],
    );
}

#[test]
fn exports_are_definitions() {
    let facts = read(
        "a.ts",
        "export const a = 1, { b, c: d } = x;\nexport default class E {}\nfunction f() {}\nexport { f as g };\n\
         export interface I {}\nexport enum J {}\nexport abstract class K {}\nconst hidden = 1;\n",
    );
    assert_eq!(facts.definitions, ["E", "I", "J", "K", "a", "b", "d", "default", "g"]);
}
