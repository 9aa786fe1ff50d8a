// What the server keeps on this agent, in force and on disk: it outlives the stream and the process.
import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { digestOf, type InventoryPage, ObjectStatus } from '../../kernel/wire/control.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import type {
  AgentApplyResult,
  AgentCall,
  AgentObject,
  AgentObjectKind,
  AgentObjects,
  ApplyOrder
} from '../plugin.ts'
import { openDrainingObjects } from './draining-objects.ts'
import type { ObjectStore } from './object-store.ts'

interface Options {
  readonly store: ObjectStore
  readonly kinds: readonly AgentObjectKind[]
  readonly call: () => AgentCall
  readonly clock: Clock
  readonly log: Log
}

export interface ManagedObjects extends AgentObjects {
  /** At start: all that was saved is in force again, without a server. */
  restore(): Promise<void>
  /** Of what is applied, for Hello. */
  digest(): string
  welcome(generation: string, kinds: readonly string[]): Promise<void>
  /** A part of the inventory, from after a row on. */
  stock(after: string): Static<typeof InventoryPage.body>
  /** What changes is told here from now on. */
  attach(line: MessageChannel): void
  detach(): void
  /** Everything goes at once: the server has taken the right to it away. */
  clear(): Promise<void>
  /** The agent stops: nothing is put or dropped any more, what comes stays unanswered. */
  close(): void
}

type Key = Pick<AgentObject, 'kind' | 'id'>
type Failure = Pick<Refused, 'code' | 'message'>

interface Entry {
  object: AgentObject
  readonly turn: ApplyOrder | null
  failure: Failure | null // null: in force
  tries: number
  cancel: Release
}

const partRows = 500
const waitingTold = 500 // at a join; the others tell of themselves when they come into force

export function openManagedObjects({ store, kinds, call, clock, log }: Options): ManagedObjects {
  const kindOf = new Map(kinds.map(kind => [kind.kind, kind]))
  const entries = new Map<string, Entry>()
  const untold = new Set<string>() // changed since the digest was taken, and no stream to say it on
  const leaving = openDrainingObjects(clock)
  let line: MessageChannel | null = null
  let isClosed = false
  let last: Promise<unknown> = Promise.resolve()

  /** One change after another, whoever asks: a stream, the one before it, or a timer. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(() => (isClosed ? new Promise<T>(() => {}) : work()))
    last = turn.catch(() => {})
    return turn
  }

  async function apply({ kind, id, bytes }: AgentObject): Promise<Failure | null> {
    try {
      const owner = kindOf.get(kind)
      if (!owner) throw new Refused('kind_unknown', `no plugin of this agent keeps ${kind}`)
      await owner.apply(id, bytes, call())
      return null
    } catch (error) {
      if (error instanceof Refused) return error
      log.error('held.apply_failed', String(error), { kind, id })
      return { code: 'internal', message: String(error) }
    }
  }

  function turnOf({ kind, bytes }: AgentObject): ApplyOrder | null {
    try {
      return kindOf.get(kind)?.applyOrder?.(bytes, call()) ?? null
    } catch {
      return null // what cannot be read is refused, with its reason, when it is applied
    }
  }

  /** In force or not, it is ours now; one that failed is tried again. */
  function keep(object: AgentObject, failure: Failure | null, tries = 0): Entry {
    const entry: Entry = { object, turn: turnOf(object), failure, tries, cancel: () => {} }
    entries.set(keyOf(object), entry)
    if (failure && kindOf.has(object.kind)) {
      const ms = Math.min(1000 * 2 ** tries, 60_000)
      entry.cancel = clock.after(ms, () => void inTurn(() => again(entry)))
    }
    return entry
  }

  /** Without a server nobody else would hear of it. */
  async function bringUp(object: AgentObject): Promise<void> {
    const failure = await apply(object)
    if (failure)
      log.warn('held.not_restored', failure.message, {
        kind: object.kind,
        id: object.id,
        code: failure.code
      })
    keep(object, failure)
  }

  async function again(entry: Entry): Promise<void> {
    if (entries.get(keyOf(entry.object)) === entry) for (const one of together(entry)) await retry(one)
  }

  /** What else waits for the same thing, in its order: it may be there for all. */
  function together(entry: Entry): readonly Entry[] {
    const { object, turn } = entry
    if (!turn) return [entry]
    const group = [...entries.values()].filter(
      ({ failure, ...other }) =>
        failure && other.object.kind === object.kind && other.turn?.group === turn.group
    )
    return group.toSorted((a, b) => rankOf(a.turn) - rankOf(b.turn))
  }

  async function retry(entry: Entry): Promise<void> {
    entry.cancel()
    const failure = await apply(entry.object)
    const next = keep(entry.object, failure, entry.tries + 1)
    if (failure?.code !== entry.failure?.code) tell(next)
  }

  function tell({ object: { kind, id, revision }, failure }: Entry): void {
    if (!line) return void untold.add(keyOf({ kind, id }))
    const { code, message } = failure ?? { code: '', message: '' }
    line.send(ObjectStatus, { kind, id, revision, code, message: message.slice(0, 1024) })
  }

  async function put(given: AgentObject, retry: 'retry' | 'once'): Promise<AgentApplyResult> {
    const object = { ...given, bytes: Uint8Array.from(given.bytes) } // not a view of a whole frame
    const known = entries.get(keyOf(object))
    if (known && object.revision < known.object.revision) return verdictOf(known)
    const dropped = leaving.revisionOf(object.kind, object.id) ?? 0
    if (object.revision < dropped) return { status: 'applied', revision: dropped }

    const isSame = known?.failure === null && Buffer.compare(known.object.bytes, object.bytes) === 0
    known?.cancel()
    if (known?.object.revision !== object.revision || !isSame) store.save(object)
    const failure = isSame ? null : await apply(object)
    if (failure && retry === 'once') {
      await bringBack(object, known?.object)
      return verdictOf({ object, failure })
    }
    // Fail closed: what it replaces may allow more than the server wants by now.
    if (failure && known?.failure === null)
      await kindOf.get(object.kind)?.withdraw(object.id, 'drain', call()).catch(sayStays(object))
    return verdictOf(keep(object, failure))
  }

  const sayStays =
    ({ kind, id }: Key) =>
    (error: unknown) =>
      log.error('held.withdraw_failed', `it may still be in force: ${String(error)}`, { kind, id })

  /** What is refused once leaves everything as it was. */
  async function bringBack({ kind, id }: Key, before: AgentObject | undefined): Promise<void> {
    if (!before) return store.remove(kind, id)
    store.save(before)
    keep(before, await apply(before))
  }

  async function drop({ kind, id, revision }: Omit<AgentObject, 'bytes'>, removal: 'drain' | 'cut') {
    const known = entries.get(keyOf({ kind, id }))
    if (known && revision < known.object.revision) return verdictOf(known)
    known?.cancel()
    const withdrawn = await kindOf.get(kind)?.withdraw(id, removal, call())
    store.remove(kind, id)
    entries.delete(keyOf({ kind, id }))
    leaving.add({ kind, id, revision }, withdrawn?.done ?? Promise.resolve())
    return { status: 'applied', revision } satisfies AgentApplyResult
  }

  function adopt(generation: string): void {
    if (generation === store.generation()) return
    store.adopt(generation)
    leaving.forgetRevisions()
    for (const entry of entries.values()) entry.object = { ...entry.object, revision: 0 }
  }

  return {
    put: (object, retry) => inTurn(() => put(object, retry)),
    drop: (object, removal) => inTurn(() => drop(object, removal)),
    restore: () =>
      inTurn(async () => {
        const byRank = Map.groupBy(store.all(), object => rankOf(turnOf(object)))
        for (const [, objects] of [...byRank].sort(([a], [b]) => a - b))
          await Promise.all(objects.map(bringUp))
      }),
    digest() {
      untold.clear()
      const applied = [...entries.values()].filter(({ failure }) => failure === null)
      return digestOf(
        store.generation(),
        applied.map(({ object }) => object)
      )
    },
    welcome: (generation, wanted) =>
      inTurn(async () => {
        adopt(generation)
        const foreign = [...entries.values()].filter(({ object }) => !wanted.includes(object.kind))
        for (const { object } of foreign) await drop(object, 'drain').catch(sayStays(object))
      }),
    stock(after) {
      const kept = [...entries.values()].map(({ object: { kind, id, revision }, failure }) => {
        return { kind, id, revision, state: failure ? ('waiting' as const) : ('applied' as const) }
      })
      const dropped = leaving.draining().filter(row => !entries.has(keyOf(row)))
      const rows = [...kept, ...dropped.map(row => ({ ...row, state: 'draining' as const }))]
        .filter(row => keyOf(row) > after)
        .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      return { rows: rows.slice(0, partRows), more: rows.length > partRows }
    },
    attach(next) {
      line = next
      leaving.attach(next)
      // What waits is in no digest: a server that knows it no more would not ask for it.
      const waiting = [...entries.values()].filter(({ failure }) => failure).slice(0, waitingTold)
      const changed = [...untold].flatMap(key => entries.get(key) ?? [])
      for (const entry of new Set([...changed, ...waiting])) tell(entry)
      untold.clear()
    },
    detach() {
      line = null
      leaving.detach()
    },
    clear: () =>
      inTurn(async () => {
        await Promise.all(
          [...entries.values()].map(({ object }) => drop(object, 'cut').catch(sayStays(object)))
        )
        store.clear()
      }),
    close() {
      isClosed = true
      for (const { cancel } of entries.values()) cancel()
    }
  }
}

const rankOf = (turn: ApplyOrder | null): number => turn?.rank ?? 0

const keyOf = ({ kind, id }: Key): string => `${kind} ${id}`

const verdictOf = ({ object: { revision }, failure }: Pick<Entry, 'object' | 'failure'>): AgentApplyResult =>
  failure
    ? { status: 'refused', revision, code: failure.code, message: failure.message }
    : { status: 'applied', revision }
