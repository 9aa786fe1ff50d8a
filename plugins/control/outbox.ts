// What one connected agent is told: compare and send, after a join, a change, a time-out and a crash alike.
// It draws from the store, and is never pushed into: a slow agent costs no memory.

import { attributionOf } from '../../kernel/base/attribution.ts'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Stream } from '../../kernel/wire/stream.ts'
import { reconcile } from './reconcile.ts'
import type { RecordResult } from './record-result.ts'
import type { RequestIds } from './request-ids.ts'

export interface Outbox {
  /** Until the stream ends. */
  run(digest: string): Promise<void>
  wake(): void
  /** What the agent says of a row by itself. */
  hear(row: Pick<ManagedObject, 'kind' | 'id' | 'revision'>, settlement: ApplyResult): Promise<void>
}

export interface OutboxOptions extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly peer: Peer
  readonly stream: Stream
  readonly kinds: readonly ObjectKind[] // in the order in which they are sent
  readonly generation: string
  readonly settle: RecordResult
  readonly origins: RequestIds
}

const maxUnanswered = 64
const maxUnheard = 10_000 // words of the agent that wait for the disk, before its next is waited with
const againMs = 15_000

export function openOutbox(options: OutboxOptions): Outbox {
  const { peer, stream, store, settle, origins, clock, log } = options
  const byKind = new Map(options.kinds.map(kind => [kind.kind, kind]))
  const newest = new Map<string, number>() // of what is unanswered: the revision sent last
  const waiting = new Set<() => void>() // for an answer, so that the next may be sent
  const unheard = new Set<Promise<void>>()
  let unanswered = 0
  let cursor = 0
  let hasNews = false
  let isDoubted = false // the agent holds what no row knows
  let resume = (): void => {}
  const isOver = (): boolean => stream.ended.aborted

  const wake = (): void => {
    hasNews = true
    resume()
  }

  /** Rows of loaded kinds that changed since the last look, in the order of their change. */
  async function draw(): Promise<ManagedObject[]> {
    hasNews = false
    const rows = await store.read(em =>
      em.find(
        ManagedObjectRow,
        { clientId: peer.clientId, revision: { $gt: cursor } },
        { orderBy: { revision: 'asc' }, disableIdentityMap: true }
      )
    )
    cursor = rows.at(-1)?.revision ?? cursor
    return rows
      .filter(({ kind }) => byKind.has(kind))
      .map(({ clientId, kind, id, revision, removal = null }) => ({ clientId, kind, id, revision, removal }))
  }

  /** The bodies of what shall be there; a removal has its own. */
  async function load(rows: readonly ManagedObject[]): Promise<ReadonlyMap<ManagedObject, unknown>> {
    const bodies = new Map<ManagedObject, unknown>()
    for (const [name, kind] of byKind) {
      const mine = rows.filter(row => row.kind === name && row.removal === null)
      if (mine.length === 0 || (kind.capability && !peer.can(kind.capability))) continue
      const loaded = await store.read(em => kind.load(mine, em))
      for (const row of mine) if (loaded.has(row.id)) bodies.set(row, loaded.get(row.id))
    }
    return bodies
  }

  /** In this order, at most 64 unanswered. Resolves when all are sent, with the promise that all are answered. */
  async function send(rows: readonly ManagedObject[]): Promise<{ readonly answered: Promise<unknown> }> {
    const sent: Promise<void>[] = []
    for (let at = 0; at < rows.length; at += maxUnanswered) {
      const chunk = rows.slice(at, at + maxUnanswered)
      const bodies = await load(chunk)
      for (const row of chunk.filter(row => row.removal !== null || bodies.has(row))) {
        while (unanswered >= maxUnanswered && !isOver())
          await new Promise<void>(resolve => void waiting.add(resolve))
        await stream.drained()
        if (isOver()) return { answered: Promise.all(sent) }
        if ((newest.get(keyOf(row)) ?? -1) < row.revision)
          sent.push(origins.within(row, () => deliver(row, bodies.get(row))))
      }
    }
    return { answered: Promise.all(sent) }
  }

  async function deliver(row: ManagedObject, body: unknown): Promise<void> {
    const kind = byKind.get(row.kind)
    if (!kind) return
    const key = keyOf(row)
    newest.set(key, row.revision)
    unanswered += 1
    const word = await ask(kind, row, body)
    unanswered -= 1
    const isNewest = newest.get(key) === row.revision
    if (isNewest) newest.delete(key)
    for (const go of waiting) go()
    waiting.clear()
    if (word === 'late' && isNewest) void send([row]).catch(failed)
    if (typeof word === 'object') await settle(kind, row, word)
  }

  async function ask(
    kind: ObjectKind,
    row: ManagedObject,
    body: unknown
  ): Promise<ApplyResult | 'late' | 'nothing'> {
    const [question, said] = row.removal === null ? [kind.push, body] : [kind.remove, kind.removal(row)]
    try {
      const answer: unknown = await peer.request(question, said, { deadlineMs: againMs })
      if (revisionIn(answer) < row.revision) return 'nothing'
      return { status: row.removal === 'cut' ? 'removed' : 'applied' }
    } catch (error) {
      if (!(error instanceof Refused)) {
        failed(error)
        return { status: 'refused', code: 'internal', message: 'it could not be put into words' }
      }
      if (error.code === 'wire.closed') return 'nothing'
      if (error.code === 'wire.deadline') return 'late'
      return { status: 'refused', code: error.code, message: error.message }
    }
  }

  const failed = (error: unknown): void =>
    log.error('held.send_failed', 'what shall live on the agent could not be sent', {
      client_id: peer.clientId,
      ...attributionOf(error),
      error: error instanceof Error ? (error.stack ?? error.message) : String(error)
    })

  const confirm = (row: ManagedObject, settlement: ApplyResult): Promise<void> => {
    const kind = byKind.get(row.kind)
    return kind ? settle(kind, row, settlement) : Promise.resolve()
  }

  /** A word on what no row knows: what was refused, or is gone, and stayed there, as after a kill in mid-change. */
  async function doubt({ kind, id }: Pick<ManagedObject, 'kind' | 'id'>): Promise<void> {
    const where = { clientId: peer.clientId, kind, id }
    if (!byKind.has(kind) || (await store.read(em => em.count(ManagedObjectRow, where))) > 0) return
    isDoubted = true
    wake()
  }

  /** Goes on until the stream ends: what failed or is in doubt is begun again, by comparing. */
  async function run(digest: string): Promise<void> {
    stream.ended.addEventListener('abort', () => resume(), { once: true })
    for (let said = digest; !isOver(); said = '') {
      try {
        cursor = 0
        isDoubted = false
        await reconcile({ ...options, rows: await draw(), digest: said, load, send, confirm, wake })
        for (await news(); !isDoubted; await news()) {
          if (isOver()) return
          await send(await draw())
        }
      } catch (error) {
        if (isOver()) return
        failed(error)
        await pause()
      }
    }
  }

  return {
    run,
    wake,
    async hear({ kind, id, revision }, settlement) {
      const removal = settlement.status === 'removed' ? 'drain' : null
      const written = confirm({ clientId: peer.clientId, kind, id, revision, removal }, settlement)
      if (settlement.status !== 'removed') doubt({ kind, id }).catch(failed)
      unheard.add(written)
      void written.then(() => unheard.delete(written))
      if (unheard.size > maxUnheard) await written
    }
  }

  async function news(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    resume = resolve
    if (!hasNews && !isOver()) await promise
  }

  async function pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(againMs, resolve)
    resume = () => isOver() && resolve()
    await promise
    await cancel()
  }
}

export const keyOf = ({ kind, id }: Pick<ManagedObject, 'kind' | 'id'>): string => `${kind} ${id}`

const revisionIn = (answer: unknown): number =>
  typeof answer === 'object' && answer !== null && 'revision' in answer ? Number(answer.revision) : 0
