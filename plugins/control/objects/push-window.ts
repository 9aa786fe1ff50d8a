// Sends objects to one agent and waits for its answers.
import { attributionOf } from '../../../kernel/base/attribution.ts'
import { stackOf } from '../../../kernel/base/errors.ts'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../../kernel/control/managed-objects.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { objectKey } from '../../../kernel/wire/control.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import type { Stream } from '../../../kernel/wire/stream.ts'
import type { BodyLoader } from './body-loader.ts'
import type { ChangedRows } from './changed-rows.ts'
import { LaneLimit } from './lane-limit.ts'
import type { RecordResult } from './record-result.ts'
import type { RequestIds } from './request-ids.ts'

export interface OutboxOptions extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly peer: Peer
  readonly stream: Stream
  readonly kinds: ReadonlyMap<string, ObjectKind> // in sending order
  readonly generation: string
  readonly record: (row: ManagedObject, result: ApplyResult) => ReturnType<RecordResult>
  readonly requestIds: RequestIds
  readonly changedRows: ChangedRows
  readonly bodies: BodyLoader
  readonly changeNumber: string // SQL
}

const maxUnanswered = 64

interface Sender {
  /** Called with a refused row. Returns true to ignore the refusal, because the row will be sent again. */
  readonly postpone: (row: ManagedObject) => boolean
  /** Returns the lane that shares the window with others. */
  readonly laneOf: (row: ManagedObject) => string
}

const alone: Sender = { postpone: () => false, laneOf: () => '' }

export const retryMs = 15_000

/**
 * Leaves at most 64 messages unanswered, and of each lane 4 to 32, at most as many as it leaves free. Loads and sends a message again
 * after 15 s without an answer.
 */
export class PushWindow {
  readonly #options: OutboxOptions
  readonly #onAnswer: () => void
  readonly #sentRevisions = new Map<string, number>() // newest one of each unanswered object
  #answer = Promise.withResolvers<void>() // the next one
  readonly #unansweredByLane = new Map<string, number>()
  readonly #laneLimit = new LaneLimit()
  #unanswered = 0

  /** Calls `onAnswer` when a place is free. */
  constructor(options: OutboxOptions, onAnswer: () => void) {
    this.#options = options
    this.#onAnswer = onAnswer
  }

  get unanswered(): number {
    return this.#unanswered
  }

  /** True if a lane has as many places as it may have, or as it leaves free, after `taken` rows that are not sent yet. */
  isFull(lane: string, taken: { readonly all: number; readonly ofLane: number }): boolean {
    const used = (this.#unansweredByLane.get(lane) ?? 0) + taken.ofLane
    return used >= Math.min(this.#laneLimit.max, maxUnanswered - this.#unanswered - taken.all)
  }

  /** Returns the bodies of pushes. There is none for removals, unsupported kinds, and rows that their plugin leaves out. */
  async load(rows: readonly ManagedObject[]): Promise<ReadonlyMap<ManagedObject, unknown>> {
    const { kinds, peer } = this.#options
    const bodies = new Map<ManagedObject, unknown>()
    for (const [name, kind] of kinds) {
      const pushes = rows.filter(row => row.kind === name && row.removal === null)
      if (pushes.length === 0 || (kind.capability && !peer.can(kind.capability))) continue
      const loaded = await this.#options.bodies(kind, pushes)
      for (const row of pushes) if (loaded.has(row.id)) bodies.set(row, loaded.get(row.id))
    }
    return bodies
  }

  /** Sends rows in their order. Resolves when all are sent; `answered` resolves when all are answered. */
  async send(
    rows: readonly ManagedObject[],
    sender: Sender = alone
  ): Promise<{ readonly answered: Promise<unknown> }> {
    const { stream, requestIds } = this.#options
    const sent: Promise<void>[] = []
    for (let at = 0; at < rows.length; at += maxUnanswered) {
      const chunk = rows.slice(at, at + maxUnanswered)
      const bodies = await this.load(chunk)
      for (const row of chunk.filter(row => row.removal !== null || bodies.has(row))) {
        while (this.#unanswered >= maxUnanswered && !stream.ended.aborted) await this.#answer.promise
        await stream.drained()
        if (stream.ended.aborted) return { answered: Promise.all(sent) }
        if ((this.#sentRevisions.get(objectKey(row)) ?? -1) < row.revision)
          sent.push(requestIds.runWith(row, () => this.#deliver(row, bodies.get(row), sender)))
      }
    }
    return { answered: Promise.all(sent) }
  }

  async #deliver(row: ManagedObject, body: unknown, sender: Sender): Promise<void> {
    const kind = this.#options.kinds.get(row.kind)
    if (!kind) return
    const key = objectKey(row)
    this.#sentRevisions.set(key, row.revision)
    const lane = sender.laneOf(row)
    this.#count(lane, 1)
    const { clock } = this.#options
    const sentAt = clock.monotonic()
    const result = await this.#request(kind, row, body)
    const now = clock.monotonic()
    const ofLane = this.#unansweredByLane.get(lane) ?? 0
    if (typeof result === 'object') this.#laneLimit.answered(now - sentAt, ofLane, now)
    this.#count(lane, -1)
    const isNewest = this.#sentRevisions.get(key) === row.revision
    if (isNewest) this.#sentRevisions.delete(key)
    this.#answer.resolve()
    this.#answer = Promise.withResolvers()
    this.#onAnswer()
    if (result === 'timeout' && isNewest)
      void this.send([row.isDeferred ? { ...row, isDeferred: false } : row], sender).catch(error =>
        logSendFailed(this.#options, error)
      )
    if (typeof result !== 'object' || (result.status === 'refused' && sender.postpone(row))) return
    await this.#options.record(row, result)
  }

  #count(lane: string, change: 1 | -1): void {
    this.#unanswered += change
    const ofLane = (this.#unansweredByLane.get(lane) ?? 0) + change
    if (ofLane > 0) this.#unansweredByLane.set(lane, ofLane)
    else this.#unansweredByLane.delete(lane)
  }

  /** Returns 'none' if the stream has ended, or the agent has answered with another revision. */
  async #request(
    kind: ObjectKind,
    row: ManagedObject,
    body: unknown
  ): Promise<ApplyResult | 'timeout' | 'none'> {
    const request = row.removal === null ? kind.push : kind.remove
    const message = row.removal === null ? body : kind.removal(row)
    try {
      const answer = await this.#options.peer.request(request, message, { deadlineMs: retryMs })
      if (revisionIn(answer) !== row.revision) return 'none'
      return { status: row.removal === 'cut' ? 'removed' : 'applied' }
    } catch (error) {
      if (!(error instanceof Refused)) {
        logSendFailed(this.#options, error)
        return { status: 'refused', code: 'internal', message: 'the object could not be encoded' }
      }
      if (error.code === 'wire.closed') return 'none'
      if (error.code === 'wire.deadline') return 'timeout'
      return { status: 'refused', code: error.code, message: error.message }
    }
  }
}

export const logSendFailed = ({ log, peer }: Pick<OutboxOptions, 'log' | 'peer'>, error: unknown): void =>
  log.error('object.send_failed', 'objects could not be sent to the agent', {
    client_id: peer.clientId,
    ...attributionOf(error),
    error: stackOf(error)
  })

const revisionIn = (answer: unknown): number =>
  typeof answer === 'object' && answer !== null && 'revision' in answer ? Number(answer.revision) : 0
