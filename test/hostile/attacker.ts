// Runs one attack in a process of its own, so that its work delays no measurement: node attacker.ts NAME < target.json
import { setPriority } from 'node:os'
import { text } from 'node:stream/consumers'
import type { Attack, Target } from './target.ts'

setPriority(10) // an attacker elsewhere would not take the processor of the server
const [, , name] = process.argv
const { attack } = (await import(`./${name}.ts`)) as { readonly attack: Attack }
const target = JSON.parse(await text(process.stdin)) as Target
console.log(JSON.stringify(await attack(target)))
process.exit(0)
