/**
 * How do I render a prompt, and send it with the client I have?
 *
 * system: You name the product that a complaint is about.
 * user: Complaint number 17, in German.
 * 24 tokens
 */

import { Prompt } from 'proem-engine';

const PROMPT = `---
input: { schema: { number: integer, language: string } }
proem:
  version: 1.0.0
  sections: [{ name: role, trust: constitution }, { name: complaint, trust: task }]
  inputs: { number: { trust: trusted }, language: { trust: trusted } }
---
{{role "system"}}{{section "role"}}You name the product that a complaint is about.
{{role "user"}}{{section "complaint"}}Complaint number {{number}}, in {{language}}.`;

const rendered = Prompt.parse(PROMPT).render({ number: 17, language: 'German' });
for (const { role, content } of rendered.messages) console.log(`${role}: ${content.trim()}`);
console.log(`${rendered.tokens} tokens`);
