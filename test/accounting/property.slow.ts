// Counts exactly the delivered bytes, whatever happens to server, agents and the stream between them.
//   SLUICE_ROUNDS=200 SLUICE_SEED=7 SLUICE_STEPS='cut,power cut' node test/accounting/property.slow.ts
import t from 'tap'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import {
  checkNoSurplus,
  compareMinutes,
  comparePeriod,
  compareTotals,
  readCounters
} from './compare-counters.ts'
import { shuffle } from './random-choice.ts'
import { steps, transfer } from './steps.ts'
import { openWorld, pause } from './world.ts'

const rounds = Number(process.env['SLUICE_ROUNDS'] ?? 1)
const seed = Number(process.env['SLUICE_SEED'] ?? Date.now() % 1_000_000)
const names = process.env['SLUICE_STEPS']?.split(',') ?? Object.keys(steps)
const isBrief = rounds === 1 // three random steps instead of all
const untilNewPeriodMs = 20_000

t.test(
  `exactly the delivered bytes are counted, with seed ${seed}`,
  { timeout: 60_000 + rounds * 240_000 },
  async t => {
    const dice = seededRandom(seed)
    const world = await openWorld(t, seed)
    const startedAt = performance.now()
    const fromSecs = Math.floor(Date.now() / 60_000) * 60
    const boundary = new Date(Math.ceil((Date.now() + untilNewPeriodMs) / 1000) * 1000)
    // January has 31 days.
    const anchor = new Date(boundary).setUTCFullYear(boundary.getUTCFullYear() - 1, 0) / 1000
    const pairs = world.users.flatMap(user => world.edges.map(({ clientId }) => ({ user, clientId })))
    for (const pair of pairs) await world.setQuota(pair, { monthly_bytes: 2 ** 50, billing_anchor: anchor })
    const allRules = new Set(world.rules)
    const scope = () => ({ rules: [...allRules], fromSecs })
    const oldUsage = usageBefore(boundary)

    for (let round = 0; round < rounds; round++) {
      for (const name of shuffle(names, dice).slice(0, isBrief ? 3 : undefined)) {
        await steps[name]?.(world, dice)
        for (const rule of world.rules) allRules.add(rule)
        await world.connected()
        checkNoSurplus(t, await readCounters(world, scope()))
        t.comment(`${name}, after ${Math.round((performance.now() - startedAt) / 1000)} s`)
      }
      await pause(Math.max(0, boundary.getTime() - Date.now()))
      await transfer(world, dice)
      await compareTotals(t, world, scope(), `round ${round}`)
      const before = await oldUsage
      for (const pair of pairs) {
        await compareMinutes(t, world, scope(), pair)
        const oldBytes = before.restored === world.restored() ? before.used.get(pair) : undefined
        await comparePeriod(t, world, scope(), { pair, fromMs: boundary.getTime(), before: oldBytes ?? 0 })
      }
    }
    t.same(world.failedReports(), [], 'no report failed')

    /** Reads the usage of the ending month just before its end; 0 if the server is down. */
    async function usageBefore(end: Date) {
      await pause(end.getTime() - Date.now() - 500)
      const restored = world.restored()
      const rows = await Promise.all(pairs.map(pair => world.quota(pair).catch(() => null)))
      const used = pairs.map((pair, i) => {
        const row = rows[i]
        return [pair, row && row.period_end * 1000 === end.getTime() ? row.bytes_used : 0] as const
      })
      return { restored, used: new Map(used) }
    }
  }
)
