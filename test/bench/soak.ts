// Runs random operations against an engine, then each attack of test/hostile against a server, each for `--minutes`.
// Exits with 1 if anything fails. The engine part stops at the first failed run. It continues beyond its time until it has
// reached 200,000 transfers, 500 changes and 50 kills per 30 minutes.
//   npm run soak -- [--minutes 30] [--seed N] [--only engine,agent,tenant,network,bans,neighbor]
//     [--epoch-secs 10] [--engine native|portable] [--asan | --tsan]
import { parseArgs } from 'node:util'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { buildWith, run } from '../../config/build/sanitizers.ts'
import type { OpenEngine } from '../engine/engine-fixture.ts'
import { nativeUnderTest } from '../engine/native-under-test.ts'
import { attackOnce } from '../hostile/attack-once.ts'
import { attacks } from '../hostile/target.ts'
import { soak } from './soak/soak.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'epoch-secs': { type: 'string', default: '10' },
    engine: { type: 'string', default: 'native' },
    only: { type: 'string', default: ['engine', ...attacks].join() },
    asan: { type: 'boolean', default: false },
    tsan: { type: 'boolean', default: false }
  }
})

function chosenEngine(): OpenEngine {
  if (values.engine === 'portable') return openPortableEngine
  const native = nativeUnderTest()
  if (!native.ok) throw new Error(native.reason)
  return native.openEngine
}

async function soakEngine(): Promise<void> {
  const share = Number(values.minutes) / 30
  const { failures, rssMib, ...counts } = await soak({
    openEngine: chosenEngine(),
    seed: Number(values.seed),
    secs: Number(values.minutes) * 60,
    secsPerRun: Number(values['epoch-secs']),
    atLeast: { transfers: 200_000 * share, changes: 500 * share, kills: 50 * share },
    log: console.log
  })
  console.log(JSON.stringify(counts), `${Math.min(...rssMib)} to ${Math.max(...rssMib)} MiB`)
  for (const what of failures) console.error(what)
  if (failures.length > 0) process.exitCode = 1
}

const { minutes, seed, 'epoch-secs': epochSecs, engine } = values
const only = values.only.split(',')
console.log(`seed ${seed}`)
if (only.includes('engine')) {
  if (values.asan || values.tsan) {
    const args = ['--only', 'engine', '--minutes', minutes, '--seed', seed, '--epoch-secs', epochSecs]
    const env = buildWith(values.asan ? 'asan' : 'tsan')
    run(process.execPath, [import.meta.filename, ...args, '--engine', engine], env)
  } else await soakEngine()
}
for (const name of attacks.filter(name => only.includes(name)))
  if ((await attackOnce({ name, seed: Number(seed), secs: Number(minutes) * 60 })).length > 0)
    process.exitCode = 1
