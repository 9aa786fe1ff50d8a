// Runs one attack in a separate process, so that it does not delay measurements: node attacker.ts NAME < target.json
// Prints lines of JSON: `phase` whenever it changes, and at last `did`.
import { text } from 'node:stream/consumers'
import { yieldProcessors } from '../support/processors.ts'
import type { Attack, Target } from './target.ts'

yieldProcessors() // they are for the edges and the measurements
const [, , name] = process.argv
const { attack } = (await import(`./${name}.ts`)) as { readonly attack: Attack }
const target = JSON.parse(await text(process.stdin)) as Target
const did = await attack(target, phase => console.log(JSON.stringify({ phase })))
console.log(JSON.stringify({ did }))
process.exit(0)
