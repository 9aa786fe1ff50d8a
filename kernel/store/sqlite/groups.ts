// Groups waiting changes into one transaction with one sync. No change counts as made before the sync.
import { AsyncResource } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'
import { enqueue, isOfOther, type Waiting } from '../fair-order.ts'
import { type Group, Transaction } from './transaction.ts'

const maxChanges = 32 // per group: the first waits for the last
const turnMs = 3 // for waiting changes; then the event loop runs
const joinSyncs = 4 // multiple of the sync time: later changes join the next group

interface Writer {
  begin(): Group | Promise<Group>
  exclusively<T>(work: () => Promise<T>): Promise<T>
  committed(tables: Iterable<string>): void
}

interface Change {
  readonly run: (transaction: Transaction) => Promise<() => void> // resolves with a function that answers the caller
  readonly fail: (error: unknown) => void
}

export class Groups {
  readonly #writer: Writer
  readonly #waiting: Waiting<Change>[] = [] // the first one runs
  isRunning = false // set here only
  readonly payers = new Set<string>() // of the current group; changed here only
  #syncMs = 1 // average of the last groups
  #wasLate = false // the last group was not over in time for further changes

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Resolves once the change is on disk. A change that throws is rolled back alone. */
  change<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const inContext = AsyncResource.bind(work) // of the caller, not of the first change of the group
      const run = (transaction: Transaction) =>
        transaction.whole(() => inContext(transaction)).then(result => () => resolve(result))
      enqueue(this.#waiting, { run, fail: reject })
      if (!this.isRunning) void this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    this.isRunning = true
    while (this.#waiting.length > 0) {
      await this.#writer.exclusively(() => this.#runGroup())
      this.payers.clear()
    }
    this.isRunning = false
  }

  /** Never rejects. */
  async #runGroup(): Promise<void> {
    const begun: (Change & { readonly tell: () => void })[] = []
    let group: Group | null = null
    let turnAt = performance.now()
    const waited = this.#waiting.length
    const joinUntil = turnAt + joinSyncs * this.#syncMs
    try {
      group = await this.#writer.begin()
      for (let isOver = false; !isOver && begun.length < maxChanges && group.isOpen; ) {
        const [change] = this.#waiting
        if (!change) break
        this.payers.add(change.payer)
        const tell = await change.run(new Transaction(group)).catch(error => () => change.fail(error))
        this.#waiting.shift()
        begun.push({ ...change, tell })
        const now = performance.now()
        const isOther = isOfOther(this.payers, this.#waiting[0])
        isOver = now > joinUntil ? isOther || begun.length >= waited : isOther && this.#wasLate
        if (this.#waiting.length > 0 && now - turnAt < turnMs && !isOver) continue
        await setImmediate() // lets further changes join the group
        turnAt = performance.now()
      }
      group.requireOpen()
      const syncedFrom = performance.now()
      this.#wasLate = syncedFrom > joinUntil
      group.control('commit')
      this.#syncMs += (performance.now() - syncedFrom - this.#syncMs) / 4
      this.#writer.committed(group.written)
      for (const { tell } of begun) tell()
    } catch (error) {
      if (group?.isOpen) group.control('rollback')
      for (const { fail } of group ? begun : this.#waiting.splice(0)) fail(error)
    }
  }
}
