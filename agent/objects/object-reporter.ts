import { ObjectStatus, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import { type ObjectStates, type PresentObject, reasonOf } from './object-states.ts'

const maxWaitingReports = 500 // on a new stream; others are reported when they come into force

/** Reports objects that change without a request. Changes without a stream are reported on the next one. */
export class ObjectReporter {
  readonly #unreported = new Map<string, PresentObject['object']>() // by key
  #channel: MessageChannel | null = null

  report({ object, state }: PresentObject): void {
    const { kind, id, revision } = object
    if (!this.#channel) return void this.#unreported.set(objectKey(object), object)
    const { code, message } = reasonOf(state) ?? { code: '', message: '' }
    const texts = { code: code.slice(0, 64), message: message.slice(0, 1024) }
    this.#channel.send(ObjectStatus, { kind, id, revision, ...texts })
  }

  /** Called after the digest for Hello was computed, which covers all changes so far. */
  digestTaken(): void {
    this.#unreported.clear()
  }

  /** Reports changes since the digest, and waiting objects, which the digest does not cover. */
  attach(channel: MessageChannel, states: ObjectStates): void {
    this.#channel = channel
    const waiting = states.all().filter(({ state }) => state.name !== 'applied')
    const changed = [...this.#unreported.values()].flatMap(object => states.get(object) ?? [])
    for (const object of new Set([...changed, ...waiting.slice(0, maxWaitingReports)])) this.report(object)
    this.#unreported.clear()
  }

  detach(): void {
    this.#channel = null
  }
}
