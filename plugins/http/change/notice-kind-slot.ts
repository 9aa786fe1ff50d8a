// Kinds of notifications. A plugin raises them without knowing who sends them; without the plugin `notify` nobody does.
import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot, type Fill } from '../../../kernel/slot.ts'

/** The object of a notification: a client, a rule, a token. */
export interface NoticeSubject {
  readonly object: string // unique among those of the kind, at most 128 characters
  readonly name: string // for people, with details such as '80 % used'; longer than 100 characters is cut
  readonly owner: string | null // the user who may see it, beside all who see everything
}

export interface Notice extends NoticeSubject {
  /**
   * The object is reported again only after this time without a notice about it, at most 90 days. Default: at most once an
   * hour, whatever happens in between.
   */
  readonly quietMs?: number
}

/** Raises the notifications of one kind, each in the transaction of its cause. */
export interface Notices {
  /** Reports something that happened. */
  raise(notice: Notice, em: EntityManager): Promise<void>
  /** Reports that a state begins. Does nothing while the object is in it. */
  begin(subject: NoticeSubject, em: EntityManager): Promise<void>
  /** The state has ended; this is not reported. Call it also when the object is deleted. */
  end(object: string, em: EntityManager): Promise<void>
}

export interface NoticeSource {
  /** Returns a clause about a number of objects, in plain text: '2 rules have failed'. */
  summarize(count: number): string
  readonly isUrgent?: true // raises the priority at services that have one
  /** Called once, before the plugin of the kind starts or after; keep `notices` to raise notifications. */
  connect(notices: Notices): void
}

export interface NoticeKind extends NoticeSource {
  readonly kind: string
}

/** Filled with `noticeKind`. */
export const noticeKindSlot = defineSlot<NoticeKind>('notify.kind', {
  ifOwnerMissing: 'inert',
  keyOf: ({ kind }) => kind
})

interface NoticeKindFill<D> extends Fill<D> {
  readonly kind: string
}

/**
 * Adds a kind of notifications: [a-z][a-z0-9_]{0,31}, such as 'quota'. `make` gets the services of the plugin; the name is known
 * before it starts, so that the configuration can be checked.
 */
export const noticeKind = <D = object>(kind: string, make: (deps: D) => NoticeSource): NoticeKindFill<D> => ({
  ...noticeKindSlot.fillWith((deps: D) => ({ ...make(deps), kind })),
  kind
})

/** Returns the names of the kinds that plugins add with `noticeKind`. */
export const noticeKindsOf = (plugins: readonly { readonly fills?: readonly Fill[] }[]): string[] =>
  plugins.flatMap(({ fills = [] }) =>
    fills.flatMap(fill => (fill.slot.id === noticeKindSlot.id && 'kind' in fill ? [String(fill.kind)] : []))
  )

/** An object with an end: a rule, a token, a certificate. */
export interface Expiring extends NoticeSubject {
  readonly expiresAt: number // ms
  readonly setAt: number // ms; when it was made, or got this end
}

/** A page of objects by their end, and then by `object` in byte order. */
export interface ExpiryPage {
  readonly from: number // ms; the earliest end
  readonly after: string // of the objects that end at `from`, only those behind this one; '': all
  readonly to: number // ms; the latest end
  readonly take: number // the most objects to return; fewer are the last page
}

/** Returns a page of objects that end. */
export type ExpirySource = (page: ExpiryPage, em: EntityManager) => Promise<readonly Expiring[]>

/** Sources of the kind `expires_soon`, which the plugin `notify` reads once a minute. */
export const expirySlot = defineSlot<ExpirySource>('notify.expiry', { ifOwnerMissing: 'inert' })
