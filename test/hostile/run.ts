// Runs each attack against a fresh server with honest agents and traffic. Exits with 1 if a check fails. The same seed
// gives the same attack.
//   npm run hostile -- [--minutes 1] [--seed 1] [--only agent,tenant,network,bans,neighbor]
import { parseArgs } from 'node:util'
import { attackOnce } from './attack-once.ts'
import { type AttackName, attacks } from './target.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: attacks.join() }
  }
})
const options = { seed: Number(values.seed), secs: Number(values.minutes) * 60 }

for (const name of values.only.split(',') as AttackName[])
  if ((await attackOnce({ name, ...options })).length > 0) process.exitCode = 1
