// Registers, each with one writer and many readers at all servers: what each call did, and whether one clock explains it.
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, decide, isMade } from './changes.ts'
import { oneOf, type Place, type Reply } from './place.ts'

/** Of a write or a read, in ms of one clock. */
export interface Step {
  readonly value: number
  readonly beganAt: number
  readonly endedAt: number
  readonly at: string // the servers that were asked
}

export interface Register {
  readonly ruleId: string
  readonly writes: Step[] // in order
  readonly reads: Step[]
  readonly refused: string[]
}

const restMs = 100
const patienceMs = 3_000
const portOf = ({ body }: Reply): number =>
  (body['targets'] as readonly { readonly port: number }[] | undefined)?.[0]?.port ?? 0

/** Writes 1, 2, 3 and so on as the port of the target of each rule, and reads it, until it is ended. */
export function runRegisters({ servers }: Pick<Place, 'servers'>, ruleIds: readonly string[]) {
  const registers: Register[] = ruleIds.map(ruleId => ({ ruleId, writes: [], reads: [], refused: [] }))
  let isEnding = false

  async function write({ ruleId, writes, refused }: Register): Promise<void> {
    for (let value = 1; !isEnding; value++) {
      const body = { targets: [{ host: '127.0.0.1', port: value }] }
      const beganAt = performance.now()
      const withinMs = 200 + Math.random() * patienceMs
      const outcome = await decide(servers, { method: 'PATCH', path: `/v1/rules/${ruleId}`, body, withinMs })
      const endedAt = isMade(outcome) ? performance.now() : Number.POSITIVE_INFINITY
      if (!isMade(outcome)) refused.push(`${outcome.status} ${codeOf(outcome.body)}`)
      writes.push({ value, beganAt, endedAt, at: outcome.servers.join(' ') })
      await pause(Math.random() * restMs)
    }
  }

  async function read({ ruleId, reads }: Register): Promise<void> {
    while (!isEnding) {
      const server = oneOf(servers)
      const beganAt = performance.now()
      const reply = await server.call({ method: 'GET', path: `/v1/rules/${ruleId}`, withinMs: patienceMs })
      if (reply.status === 200)
        reads.push({ value: portOf(reply), beganAt, endedAt: performance.now(), at: server.id })
      await pause(Math.random() * restMs)
    }
  }

  const running = registers.flatMap(one => [write(one), read(one), read(one)])
  return {
    registers,
    async end(): Promise<void> {
      isEnding = true
      await Promise.all(running)
    }
  }
}

/** Returns reads that no order of the calls explains. Values of writes ascend, and the first target is 80: it counts as 0. */
export function unexplained({ ruleId, writes, reads }: Register): object[] {
  const found: object[] = []
  const seen: Step[] = []
  for (const read of reads.toSorted((a, b) => a.beganAt - b.beganAt)) {
    const least = writes.findLast(({ endedAt }) => endedAt < read.beganAt)
    const most = writes.findLast(({ beganAt }) => beganAt < read.endedAt)
    const earlier = seen
      .filter(({ endedAt }) => endedAt < read.beganAt)
      .reduce((a, { value }) => Math.max(a, value), 0)
    const isFirst = read.value === firstValue && (most?.value ?? 0) < firstValue
    const value = isFirst ? 0 : read.value
    if (value < (least?.value ?? 0)) found.push({ ruleId, why: 'behind an acknowledged write', read, least })
    else if (value > (most?.value ?? 0)) found.push({ ruleId, why: 'not written yet', read, most })
    else if (value < earlier) found.push({ ruleId, why: 'behind an earlier read', read, earlier })
    seen.push({ ...read, value })
  }
  return found
}

export const firstValue = 65_535 // of the target when the rule is made
