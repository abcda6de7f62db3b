/**
 * How do I read a model's answer by a schema, and learn what was wrong with it?
 *
 * kettle, faulty
 * line 1: text around the value was removed
 * refused: /faulty: expected true or false (type)
 */

import { decode, NegativeError } from 'proem-engine';
import { z } from 'zod';

const Product = z.object({ name: z.string(), faulty: z.boolean() });

const decoded = decode('The value is {"name": "kettle", "faulty": true}', Product);
const { name, faulty } = decoded.value;
console.log(`${name}, ${faulty ? 'faulty' : 'fine'}`);
console.log(decoded.repairs.join('\n'));
try {
  decode('{"name": "kettle", "faulty": "perhaps"}', Product);
} catch (error) {
  if (error instanceof NegativeError) console.log(`refused: ${error.problems[0]}`);
}
