/**
 * Which tools does a task need?
 *
 * deploy
 * translate
 */

import { select, Toolbox } from 'proem-engine';

const TOOLS = [
  { name: 'deploy', description: 'Release a build to the servers' },
  { name: 'translate', description: 'Translate a text into another language' },
];
console.log(new Toolbox(TOOLS).rank('put the new version into production')[0]?.name);
console.log(select('translate this letter into French', TOOLS).join(', '));
