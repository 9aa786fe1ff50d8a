// The final state of the store and the agents after all faults.
import type { Fleet } from './agents.ts'
import type { FleetState } from './fleet.ts'
import { valuesIn } from './promotion.ts'
import { type Bytes, type End, registerOf } from './run-log.ts'
import { type ServerPlace, until } from './server-place.ts'

const settleMs = 90_000

/** Waits, with a limit, until agents have reported all counters and have all stored rules. */
export async function finalState(place: ServerPlace, fleets: readonly Fleet[]): Promise<End> {
  await Promise.all(fleets.map(fleet => fleet.count(false)))
  const ask = async () => ({ stored: await valuesIn(place), state: await combinedState(fleets) })
  const isSettled = ({ stored, state: { pending, rules } }: Awaited<ReturnType<typeof ask>>): boolean =>
    pending === 0 &&
    rules.length === Object.keys(stored).length &&
    rules.every(({ ruleId, value }) => stored[ruleId] === value)
  const { stored, state } = await until(ask, isSettled, { withinMs: settleMs, everyMs: 500 })
  return {
    kind: 'end',
    stored,
    agentRules: state.rules.map(({ ruleId, value }) => [ruleId, value]),
    audited: await entriesOf(place),
    totals: await totalsOf(place),
    counted: sumsOf(state.counted)
  }
}

async function combinedState(fleets: readonly Fleet[]): Promise<FleetState> {
  const all = await Promise.all(fleets.map(fleet => fleet.state()))
  return {
    pending: all.reduce((sum, { pending }) => sum + pending, 0),
    counted: all.flatMap(({ counted }) => counted),
    rules: all.flatMap(({ rules }) => rules)
  }
}

/** An audit entry contains the new value of a rule. */
async function entriesOf({ query }: ServerPlace): Promise<readonly (readonly [string, number])[]> {
  const rows = await query<{ id: string; changes: string }>(
    `select resource_id as id, changes::text as changes from audit_entry where action = 'rule.patch' and changes is not null`
  )
  return rows.map(({ id, changes }) => {
    const found = (JSON.parse(changes) as readonly { field: string; to: unknown }[]).find(
      ({ field }) => field === 'targets'
    )
    return [id, registerOf({ targets: found?.to }) ?? -1]
  })
}

async function totalsOf({ query }: ServerPlace): Promise<Readonly<Record<string, Bytes>>> {
  const rows = await query<{ id: string; bytes_in: string; bytes_out: string }>(
    `select rule_id as id, sum(bytes_in) as bytes_in, sum(bytes_out) as bytes_out from stats_total
     where kind = 'port' group by rule_id`
  )
  return Object.fromEntries(
    rows.map(({ id, bytes_in, bytes_out }) => [
      id,
      { bytesIn: Number(bytes_in), bytesOut: Number(bytes_out) }
    ])
  )
}

function sumsOf(counted: FleetState['counted']): Readonly<Record<string, Bytes>> {
  const sums: Record<string, Bytes> = {}
  for (const { ruleId, bytesIn, bytesOut } of counted) {
    const sum = sums[ruleId] ?? { bytesIn: 0, bytesOut: 0 }
    sums[ruleId] = { bytesIn: sum.bytesIn + bytesIn, bytesOut: sum.bytesOut + bytesOut }
  }
  return sums
}
