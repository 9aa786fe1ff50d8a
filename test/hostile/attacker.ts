// Runs one attack in a separate process, so that it does not delay measurements: node attacker.ts NAME < target.json
import { setPriority } from 'node:os'
import { text } from 'node:stream/consumers'
import type { Attack, Target } from './target.ts'

setPriority(10) // a remote attacker would not use the server's CPU
const [, , name] = process.argv
const { attack } = (await import(`./${name}.ts`)) as { readonly attack: Attack }
const target = JSON.parse(await text(process.stdin)) as Target
console.log(JSON.stringify(await attack(target)))
process.exit(0)
