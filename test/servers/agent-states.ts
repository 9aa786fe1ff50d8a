// Persists the counters and rules of agents in a file that outlives their process, like the journal and state of a real agent.
import { randomBytes } from 'node:crypto'
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Static } from 'typebox'
import { noCounts } from '../../agent/wire/counters.ts'
import { encodeRow, type StatsReport } from '../../agent/wire/journal-report.ts'

/** A rule as the agent stores it. */
export interface StoredRule {
  readonly ruleId: string
  readonly revision: number
  readonly port: number // listen port
  readonly value: number // port of the first target
}

/** Bytes of a rule since an epoch began. */
export interface CountedBytes {
  readonly ruleId: string
  readonly epoch: string
  readonly seq: number
  readonly port: number
  readonly bytesIn: number
  readonly bytesOut: number
}

type Change =
  | { readonly begin: string } // epoch
  | { readonly generation: string }
  | { readonly put: StoredRule }
  | { readonly dropped: string }
  | { readonly counted: CountedBytes }

interface Epoch {
  readonly name: string
  seq: number
  committed: number // the last seq that the server has
  readonly rows: Map<string, CountedBytes>
}

export class AgentState {
  generation = ''
  readonly rules = new Map<string, StoredRule>()
  readonly #epochs: Epoch[] = []
  readonly #keep: (change: Change) => void

  constructor(keep: (change: Change) => void) {
    this.#keep = keep
  }

  /** Call it at each start of the agent. */
  readonly begin = (): void => this.#do({ begin: randomBytes(16).toString('hex') })
  readonly put = (rule: StoredRule): void => this.#do({ put: rule })
  readonly drop = (ruleId: string): void => this.#do({ dropped: ruleId })

  /** The rules with their revisions in this generation; revisions of another generation are invalid in it. */
  inventoryIn(generation: string) {
    if (generation !== this.generation) {
      for (const rule of this.rules.values()) this.put({ ...rule, revision: 0 })
      this.#do({ generation })
    }
    return [...this.rules.values()].map(({ ruleId: id, revision }) => ({ kind: 'rule', id, revision }))
  }

  /** Counts some bytes of each rule. */
  count(): void {
    const epoch = this.#epochs.at(-1)
    if (!epoch) throw new TypeError('no epoch has begun')
    for (const { ruleId, port } of this.rules.values()) {
      const { bytesIn, bytesOut } = epoch.rows.get(ruleId) ?? noCounts
      const more = { bytesIn: bytesIn + someBytes(), bytesOut: bytesOut + someBytes() }
      this.#do({ counted: { ruleId, port, epoch: epoch.name, seq: epoch.seq + 1, ...more } })
    }
  }

  /** The rows that the server has not committed, the oldest epoch first. */
  *pending(): Iterable<Static<(typeof StatsReport)['body']>> {
    const open = this.#epochs.filter(({ seq, committed }) => seq > committed)
    for (const [part, { name: epoch, seq, committed, rows }] of open.entries()) {
      const fresh = [...rows.values()].filter(row => row.seq > committed)
      const last = part === open.length - 1
      yield { ...{ epoch, seq, part, last, live: [] }, rows: fresh.map(rowOf) }
    }
  }

  acknowledge(epoch: string, seq: number): void {
    const found = this.#epochs.find(({ name }) => name === epoch)
    if (found) found.committed = Math.max(found.committed, seq)
  }

  /** Takes the server's counters, which may be less than it acknowledged. */
  reconcile(committed: Readonly<Record<string, number>>): void {
    for (const epoch of this.#epochs) epoch.committed = committed[epoch.name] ?? 0
  }

  /** Everything ever counted. */
  counted = (): readonly CountedBytes[] => this.#epochs.flatMap(({ rows }) => [...rows.values()])

  #do(change: Change): void {
    this.#keep(change)
    this.apply(change)
  }

  apply(change: Change): void {
    if ('begin' in change) this.#epochs.push({ name: change.begin, seq: 0, committed: 0, rows: new Map() })
    else if ('generation' in change) this.generation = change.generation
    else if ('put' in change) this.rules.set(change.put.ruleId, change.put)
    else if ('dropped' in change) this.rules.delete(change.dropped)
    else {
      const epoch = this.#epochs.find(({ name }) => name === change.counted.epoch)
      if (!epoch) throw new TypeError('it has not begun')
      epoch.seq = change.counted.seq
      epoch.rows.set(change.counted.ruleId, change.counted)
    }
  }
}

const someBytes = (): number => Math.floor(Math.random() * 100_000)

const rowOf = ({ ruleId, port, bytesIn, bytesOut }: CountedBytes) =>
  encodeRow({ ...noCounts, ruleId, kind: 'port', key: String(port), bytesIn, bytesOut })

/** Returns a function that opens the state of an agent, as stored in the file. '' stores nothing: each start is a new agent. */
export function openAgentStates(file: string): (clientId: string) => AgentState {
  const states = new Map<string, AgentState>()
  const lines = file !== '' && existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const out = file === '' ? null : openSync(file, 'a')
  const of = (clientId: string): AgentState => {
    const state =
      states.get(clientId) ??
      new AgentState(
        change => void (out !== null && writeSync(out, `${JSON.stringify([clientId, change])}\n`))
      )
    states.set(clientId, state)
    return state
  }
  for (const line of lines) {
    const [clientId, change] = JSON.parse(line) as readonly [string, Change]
    of(clientId).apply(change)
  }
  return of
}
