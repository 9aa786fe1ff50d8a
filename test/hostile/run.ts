// Attacks a real server, one attack after another, and exits with 1 when something gave way. The same seed gives the same
// attack. Each attack has a server of its own, with honest agents and traffic beside it.
//   npm run hostile -- [--minutes 1] [--seed 1] [--only agent,tenant,network]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { attempt } from './attempt.ts'
import { type AttackName, attacks } from './target.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: attacks.join() }
  }
})

async function run(name: AttackName): Promise<boolean> {
  const dir = mkdtempSync(join(import.meta.dirname, '.hostile-'))
  const releases: (() => unknown)[] = []
  const teardown = (release: () => unknown): void => void releases.push(release)
  try {
    const secs = Number(values.minutes) * 60
    const { failures, ...outcome } = await attempt(
      { testdir: () => dir, teardown },
      { name, seed: Number(values.seed), secs }
    )
    console.log(`hostile ${name}, seed ${values.seed}: ${JSON.stringify(outcome)}`)
    for (const failure of failures) console.error(`hostile ${name}: ${failure}`)
    return failures.length === 0
  } finally {
    for (const release of releases.reverse()) await release()
    rmSync(dir, { recursive: true, force: true })
  }
}

for (const name of values.only.split(',') as AttackName[]) if (!(await run(name))) process.exitCode = 1
