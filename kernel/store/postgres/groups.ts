// Changes that wait are made one after another in one transaction, which is synced once. None has been made before that.
import { AsyncResource } from 'node:async_hooks'
import { setTimeout as after } from 'node:timers/promises'
import { conflict, faultOf, isConflict, isLost } from './failures.ts'
import { type Group, Transaction } from './transaction.ts'

const maxChanges = 8 // of a group: the first one waits for the last, and who comes between from elsewhere undoes all
const maxRepeats = 5

interface Change {
  readonly run: (group: Group) => Promise<() => void> // resolves with what tells the caller
  readonly fail: (error: unknown) => void
}

interface Options {
  readonly begin: () => Promise<Group>
  readonly revoked: (group: Group) => Promise<() => void> // called before a group commits that has revoked something; returns what is done after
  readonly ended: (group: Group) => void // takes each group before its changes are answered; it may be on disk
}

/** Makes one change on a connection that no other uses: again when others have come between. */
export async function changeOn<T>(
  begin: () => Group,
  work: (transaction: Transaction) => Promise<T>
): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    const group = begin()
    try {
      const result = await new Transaction(group).whole(work)
      await group.commit()
      return result
    } catch (thrown) {
      const error = await group.rollback(thrown)
      if (!isConflict(error) || repeats === maxRepeats) throw error
      await rest(repeats)
    }
  }
}

/** So that two writers do not meet again. */
const rest = (repeats: number): Promise<void> => after(Math.random() * 20 * 2 ** repeats)

export class Groups {
  readonly #options: Options
  readonly #waiting: Change[] = []
  running: Promise<void> | null = null // the group under way; set here only

  constructor(options: Options) {
    this.#options = options
  }

  /** Resolves when the change is on disk. One that throws is undone alone; one that others come between is made again. */
  change<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const fail = (error: unknown): void => reject(faultOf(error))
    const inContext = AsyncResource.bind(work) // of the caller, not of the change that began the group
    const run = (group: Group) =>
      new Transaction(group).whole(inContext).then(
        result => () => resolve(result),
        error => () => fail(error)
      )
    this.#waiting.push({ run, fail })
    if (!this.running) void this.#runAll()
    return promise
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.running = this.#make(this.#waiting)
      await this.running
    }
    this.running = null
  }

  /** Makes changes in one transaction, also those that come meanwhile; when others have come between, each again in one of its own. Never rejects. */
  async #make(waiting: Change[], repeats = 0): Promise<void> {
    const { begin, revoked, ended } = this.#options
    const group = await begin().catch((error: unknown) => {
      for (const { fail } of [...waiting.splice(0), ...this.#waiting.splice(0)]) fail(error) // they would wait for the same
    })
    if (!group) return
    const changes: Change[] = []
    try {
      const tells: (() => void)[] = []
      const next = () => (changes.length < maxChanges ? waiting.shift() : undefined)
      for (let change = next(); change; change = next()) {
        changes.push(change)
        tells.push(await change.run(group))
        if (group.failure !== null) throw group.failure
      }
      const committed = group.revoked.length > 0 ? await revoked(group) : null
      await group.commit()
      committed?.()
      ended(group)
      for (const tell of tells) tell()
    } catch (thrown) {
      const error = await group.rollback(thrown)
      ended(group)
      const isAgain = isConflict(error) || (changes.length > 1 && !isLost(error))
      if (isAgain && repeats < maxRepeats) {
        await rest(repeats)
        for (const change of changes) await this.#make([change], repeats + 1)
      } else for (const { fail } of changes) fail(isConflict(error) ? conflict(error) : error)
    }
  }
}
