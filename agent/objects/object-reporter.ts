import { ObjectStatus, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import type { Failure } from './object-kinds.ts'
import type { SavedObject } from './object-store.ts'

/** An object, and why it is not in force; null: it is. */
interface ReportedObject {
  readonly object: SavedObject
  readonly failure: Failure | null
}

const maxFailedReports = 500 // on a new stream; the others are reported when they come into force

/** Reports objects that changed by themselves. What changes without a stream is reported on the next one. */
export class ObjectReporter {
  readonly #unreported = new Set<string>() // keys
  #channel: MessageChannel | null = null

  report({ object, failure }: ReportedObject): void {
    const { kind, id, revision } = object
    if (!this.#channel) return void this.#unreported.add(objectKey(object))
    const { code, message } = failure ?? { code: '', message: '' }
    const texts = { code: code.slice(0, 64), message: message.slice(0, 1024) }
    this.#channel.send(ObjectStatus, { kind, id, revision, ...texts })
  }

  /** Called when the digest for Hello was made: it covers all changes so far. */
  digestTaken(): void {
    this.#unreported.clear()
  }

  /** Reports what changed since the digest, and objects that failed: the digest does not cover them. */
  attach(channel: MessageChannel, objects: ReadonlyMap<string, ReportedObject>): void {
    this.#channel = channel
    const failed = [...objects.values()].filter(({ failure }) => failure).slice(0, maxFailedReports)
    const changed = [...this.#unreported].flatMap(key => objects.get(key) ?? [])
    for (const object of new Set([...changed, ...failed])) this.report(object)
    this.#unreported.clear()
  }

  detach(): void {
    this.#channel = null
  }
}
