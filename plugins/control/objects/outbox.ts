// Keeps one connected agent up to date with the store, after a join, a change, a time-out or a crash. It reads changes
// while it sends, and owners take turns: the change of one does not wait for many of another. README.md shows its states.
import type { Release } from '../../../kernel/base/releases.ts'
import type { ApplyResult, ManagedObject } from '../../../kernel/control/managed-objects.ts'
import { rowBatches } from '../../../kernel/store/sql/row-batches.ts'
import { FairBacklog } from './fair-backlog.ts'
import { logSendFailed, type OutboxOptions, PushWindow, retryMs } from './push-window.ts'
import { reconcile } from './reconcile.ts'

const rowsPerTurn = 32 // sent before it looks for further changes
const sharedFrom = 16 // unsent and unanswered rows: owners take turns
const maxUnrecorded = 256 // reports that are not on disk yet; at this number the agent's next message waits

export class Outbox {
  readonly #options: OutboxOptions
  readonly #window: PushWindow
  readonly #unrecorded = new Set<Promise<void>>()
  #backlog = new FairBacklog()
  #state: 'reconciling' | 'sending' | 'idle' | 'full' | 'paused' = 'reconciling'
  #cursor = 0 // the last revision that was read
  #hasChanges = false
  #mustReconcile = false
  #hasUnknown = false // an unknown object was reported since the last reconciliation
  #cancelRest: Release | null = null
  #resume = (): void => {} // ends 'idle', 'full' and 'paused'

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#window = new PushWindow(options, () => {
      if (this.#state === 'full') this.#resume()
    })
  }

  /** Runs until the stream ends. `digest` is the agent's, from Hello. */
  async run(digest: string): Promise<void> {
    const { ended } = this.#options.stream
    const end = (): void => {
      this.#cancelRest?.()
      this.#resume()
    }
    ended.addEventListener('abort', end, { once: true })
    for (let agentDigest = digest; !ended.aborted; agentDigest = '')
      try {
        await this.#reconcile(agentDigest)
        await this.#sendChanges()
      } catch (error) {
        if (ended.aborted) return
        logSendFailed(this.#options, error)
        await this.#pause()
      }
  }

  /** Called when rows of the client have changed. */
  wake(): void {
    this.#hasChanges = true
    if (this.#state === 'idle' || this.#state === 'full') this.#resume()
  }

  /** Records an unsolicited result of the agent. Waits for the disk if too many results are pending. */
  async report(object: Pick<ManagedObject, 'kind' | 'id' | 'revision'>, result: ApplyResult): Promise<void> {
    const { clientId } = this.#options.peer
    const removal = result.status === 'removed' ? 'drain' : null
    const recorded = this.#options.record({ clientId, ...object, removal }, result).then(outcome => {
      this.#unrecorded.delete(recorded)
      if (outcome === 'unknown' && result.status !== 'removed') this.#reconcileUnknown()
    })
    this.#unrecorded.add(recorded)
    if (this.#unrecorded.size >= maxUnrecorded) await recorded
  }

  async #reconcile(digest: string): Promise<void> {
    this.#state = 'reconciling'
    this.#cursor = 0
    this.#mustReconcile = false
    this.#backlog = new FairBacklog()
    const rows = await this.#changed('alone')
    await reconcile({ ...this.#options, rows, digest, window: this.#window, wake: () => this.wake() })
  }

  /** Returns when the stream has ended or the agent must be reconciled again. */
  async #sendChanges(): Promise<void> {
    const { ended } = this.#options.stream
    for (;;) {
      if (!this.#hasChanges && this.#backlog.size === 0 && !ended.aborted) await this.#wait('idle')
      if (this.#mustReconcile || ended.aborted) return
      this.#state = 'sending'
      if (this.#hasChanges) await this.#queue(await this.#changed('together'))
      const backlog = this.#backlog
      const rows = backlog.take(rowsPerTurn, (lane, taken) => this.#window.isFull(lane, taken))
      if (rows.length === 0) {
        if (backlog.size > 0 && !ended.aborted) await this.#wait('full')
        continue
      }
      const postpone = (row: ManagedObject): boolean => this.#postpone(row)
      await this.#window.send(rows, { postpone, laneOf: row => backlog.laneOf(row) })
    }
  }

  /** Adds changes to the backlog. Reads their owners only if many rows are unsent or unanswered. */
  async #queue(rows: readonly ManagedObject[]): Promise<void> {
    const areShared = this.#backlog.size + rows.length + this.#window.unanswered > sharedFrom
    for (const [name, ofKind] of Map.groupBy(rows, row => row.kind)) {
      const kind = this.#options.kinds.get(name)
      for (const some of rowBatches(ofKind)) {
        const read = areShared && kind?.owners
        const owners = read ? await this.#options.store.read(em => read(some, em)) : new Map<string, string>()
        for (const row of some) this.#backlog.add(row, owners.get(row.id) ?? `kind ${name}`)
      }
    }
  }

  #postpone(row: ManagedObject): boolean {
    const isPostponed = this.#backlog.postpone(row)
    if (isPostponed && (this.#state === 'idle' || this.#state === 'full')) this.#resume()
    return isPostponed
  }

  /** Returns the rows of loaded kinds that changed since the last call, in the order of their change. */
  async #changed(how: keyof OutboxOptions['changedRows']): Promise<ManagedObject[]> {
    const { changedRows, peer, kinds } = this.#options
    this.#hasChanges = false
    const rows = await changedRows[how]({ clientId: peer.clientId, after: this.#cursor })
    this.#cursor = rows.at(-1)?.revision ?? this.#cursor
    return rows.filter(({ kind }) => kinds.has(kind))
  }

  /** The agent has an object without a row, left by a crash after a refusal or removal. Reconciles at most once in 15 s. */
  #reconcileUnknown(): void {
    if (this.#options.stream.ended.aborted) return
    if (this.#cancelRest) {
      this.#hasUnknown = true
      return
    }
    this.#hasUnknown = false
    this.#mustReconcile = true
    this.wake()
    this.#cancelRest = this.#options.clock.after(retryMs, () => {
      this.#cancelRest = null
      if (this.#hasUnknown) this.#reconcileUnknown()
    })
  }

  async #pause(): Promise<void> {
    const paused = this.#wait('paused')
    const cancel = this.#options.clock.after(retryMs, this.#resume)
    await paused
    await cancel()
  }

  /** Resolves when `#resume` is called. */
  #wait(state: 'idle' | 'full' | 'paused'): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#state = state
    this.#resume = resolve
    return promise
  }
}
