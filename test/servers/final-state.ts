// The final state of the store and the agents after all faults.
import type { Fleet } from './agents.ts'
import type { Books } from './fleet.ts'
import { valuesIn } from './promotion.ts'
import { type Bytes, type End, registerOf } from './run-log.ts'
import { type ServerPlace, until } from './server-place.ts'

const settleMs = 90_000

/** Waits, with a limit, until agents have reported all counters and have all stored rules. */
export async function finalState(place: ServerPlace, fleets: readonly Fleet[]): Promise<End> {
  await Promise.all(fleets.map(fleet => fleet.count(false)))
  const ask = async () => ({ stored: await valuesIn(place), books: await booksOf(fleets) })
  const isSettled = ({ stored, books: { pending, held } }: Awaited<ReturnType<typeof ask>>): boolean =>
    pending === 0 &&
    held.length === Object.keys(stored).length &&
    held.every(({ ruleId, value }) => stored[ruleId] === value)
  const { stored, books } = await until(ask, isSettled, { withinMs: settleMs, everyMs: 500 })
  return {
    kind: 'end',
    stored,
    held: books.held.map(({ ruleId, value }) => [ruleId, value]),
    audited: await entriesOf(place),
    totals: await totalsOf(place),
    counted: sumsOf(books.counted)
  }
}

async function booksOf(fleets: readonly Fleet[]): Promise<Books> {
  const all = await Promise.all(fleets.map(fleet => fleet.books()))
  return {
    pending: all.reduce((sum, { pending }) => sum + pending, 0),
    counted: all.flatMap(({ counted }) => counted),
    held: all.flatMap(({ held }) => held)
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

function sumsOf(counted: Books['counted']): Readonly<Record<string, Bytes>> {
  const sums: Record<string, Bytes> = {}
  for (const { ruleId, bytesIn, bytesOut } of counted) {
    const sum = sums[ruleId] ?? { bytesIn: 0, bytesOut: 0 }
    sums[ruleId] = { bytesIn: sum.bytesIn + bytesIn, bytesOut: sum.bytesOut + bytesOut }
  }
  return sums
}
