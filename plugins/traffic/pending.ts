// Committed counts wait here, one row per report, until `fold` adds them to the samples. An agent reports every 5 s, and each
// report would change ten series of a rule. Folding twelve reports at once makes the intake of reports cheaper.
import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../kernel/platform/id.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import type { CommittedBytes, CommittedTarget } from '../stats/exports.ts'
import type { CountValues } from './counts.ts'
import { bucketSecs } from './window.ts'

const maxRows = 1_000
const maxCharacters = 1_000_000 // of the rows that one transaction folds

/** Counts of a rule in a minute or an hour. */
type RuleCounts = readonly [
  ruleId: string,
  owner: string,
  spanSecs: number,
  startSecs: number,
  counts: CountValues
]
/** Counts of a target of a user. */
type TargetCounts = readonly [owner: string, target: string, startSecs: number, counts: CountValues]

interface Body {
  readonly rules: readonly RuleCounts[]
  readonly targets: readonly TargetCounts[]
}

export interface Pending extends Body {
  readonly clientId: string
}

/** Saves committed counts. Call it in the ledger's transaction. */
export async function save(
  committed: readonly CommittedBytes[],
  targets: readonly CommittedTarget[],
  em: EntityManager,
  nowMs: number
): Promise<void> {
  const rulesOf = Map.groupBy(committed, ({ clientId }) => clientId)
  const targetsOf = Map.groupBy(targets, ({ clientId }) => clientId)
  const rows = [...new Set([...rulesOf.keys(), ...targetsOf.keys()])].map(clientId => {
    const body: Body = {
      rules: (rulesOf.get(clientId) ?? []).map(toRuleCounts),
      targets: (targetsOf.get(clientId) ?? []).map(toTargetCounts)
    }
    return [clientId, newId(nowMs), JSON.stringify(body)]
  })
  for (const some of rowBatches(rows, 3))
    await em.execute(
      `insert into traffic_pending (client_id, id, body) values ${some.map(() => '(?, ?, ?)')}`,
      some.flat(),
      'run'
    )
}

const toRuleCounts = (row: CommittedBytes): RuleCounts => [
  row.ruleId,
  row.owner,
  bucketSecs[row.span === 'minute' ? '1m' : '1h'],
  row.startSecs,
  [row.bytesIn, row.bytesOut, row.connections, row.refused, row.datagramsIn, row.datagramsOut]
]

const toTargetCounts = (row: CommittedTarget): TargetCounts => [
  row.owner,
  row.target,
  row.startSecs,
  [row.bytesIn, row.bytesOut, row.connections, 0, 0, 0]
]

/** Removes and returns saved counts of the next clients; with a user, only rows that name it. Empty: nothing is left. */
export async function take(em: EntityManager, userId?: string): Promise<readonly Pending[]> {
  const naming = userId === undefined ? [] : [`"${userId}"`]
  const found = await em.execute<{ client_id: string; id: string; body: string }[]>(
    `select client_id, id, body from traffic_pending ${naming.map(() => `where replace(body, ?, '') <> body`)}
     order by client_id, id limit ${maxRows}`,
    naming
  )
  let characters = 0
  const taken = found.filter(({ body }, i) => {
    characters += body.length
    return i === 0 || characters <= maxCharacters
  })
  for (const some of rowBatches(taken, 2))
    await em.execute(
      `delete from traffic_pending where (client_id, id) in (values ${some.map(() => '(?, ?)')})`,
      some.flatMap(({ client_id, id }) => [client_id, id]),
      'run'
    )
  return taken.map(({ client_id: clientId, body }) => ({ clientId, ...(JSON.parse(body) as Body) })) // as saved
}
