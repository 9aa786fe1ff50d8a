// The kinds of this plugin and of others, and the texts of messages.
import { stackOf } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type NoticeKind, noticeKindSlot } from '../http/exports.ts'
import type { Outgoing } from './channels/outgoing.ts'
import type { Content } from './messages.ts'
import type { Objects } from './objects.ts'
import { plainText } from './plain-text.ts'

/** A kind with events of this plugin itself. */
export type OwnKind = Omit<NoticeKind, 'connect'>

export interface KindRegistry {
  /** Returns the message as channels and lists show it. Works for kinds of plugins that are gone, too. */
  describe(content: Content): Outgoing
  /** Gives the kinds of other plugins what they raise notifications with. */
  connect(): void
}

interface Deps {
  readonly filled: SlotReader
  readonly objects: Objects
  readonly log: Log
}

const maxTitle = 200

export function openKindRegistry(own: readonly OwnKind[]) {
  return ({ filled, objects, log }: Deps): KindRegistry => {
    let kinds = new Map<string, OwnKind>(own.map(kind => [kind.kind, kind]))

    function clauseOf({ kind, count }: Content): string {
      try {
        return plainText(kinds.get(kind)?.summarize(count) ?? `${kind}: ${count}`, maxTitle)
      } catch (error) {
        log.error('notify.kind_failed', `the kind ${kind} has no text: ${stackOf(error)}`, { kind })
        return `${kind}: ${count}`
      }
    }

    return {
      describe(content) {
        const { count, names, kind } = content
        const clause = clauseOf(content)
        const more = count > names.length ? ` and ${count - names.length} more` : ''
        const isUrgent = kinds.get(kind)?.isUrgent ?? false
        return {
          ...content,
          title: `sluice: ${clause}`,
          text: `${clause}: ${names.join(', ')}${more}`,
          isUrgent
        }
      },
      connect() {
        const others = filled(noticeKindSlot).map(({ value }) => value) // available from the start on
        kinds = new Map([...own, ...others].map(kind => [kind.kind, kind]))
        for (const other of others) {
          const { kind } = other
          other.connect({
            raise: (notice, em) => objects.raise({ ...notice, kind }, em),
            begin: (about, em) => objects.observe({ ...about, subject: kind, state: 'on', kind }, em),
            end: (object, em) => {
              const about = { object, name: object, owner: null }
              return objects.observe({ ...about, subject: kind, state: '', kind: null }, em)
            }
          })
        }
      }
    }
  }
}

export const countOf = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`
