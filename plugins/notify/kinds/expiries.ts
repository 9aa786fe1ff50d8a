// The kind `expires_soon`: objects of other plugins, at two moments before their end.

import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, stackOf, storeOutcomeUnknown, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type ExpiryNotice, type ExpirySource, expiryNotices, expirySlot } from '../../http/exports.ts'
import { NotifyExpiry } from '../entities.ts'
import { countOf, type OwnKind } from '../kind-registry.ts'
import type { Objects } from '../objects.ts'

const kind = 'expires_soon'

export const expiryKind: OwnKind = {
  kind,
  summarize: count => countOf(count, 'object expires soon', 'objects expire soon')
}

const dayMs = 24 * 3_600_000

const isStoreFault = (error: unknown): boolean =>
  error instanceof Fault && [storeUnavailable, storeOutcomeUnknown].includes(error.errorCode)

export interface Expiries {
  /** Reports objects that have passed one of their moments since the last call. A source that throws is asked again. */
  report(): Promise<void>
}

interface Deps extends Pick<Kernel, 'clock' | 'store' | 'log' | 'filled'> {
  readonly objects: Objects
}

export function openExpiries({ clock, store, log, filled, objects }: Deps): Expiries {
  async function report(): Promise<void> {
    const now = clock.now()
    const known = await store.read(em => em.find(NotifyExpiry, {}))
    const asked: string[] = []
    for (const [plugin, sources] of Map.groupBy(filled(expirySlot), ({ by }) => by)) {
      const since = known.find(row => row.plugin === plugin)?.reportedUntil ?? 0
      try {
        for (const { value } of sources) await reportOf(value, { since, now })
        asked.push(plugin)
      } catch (error) {
        if (isStoreFault(error)) throw error // the plugin is not to blame
        const message = `plugin ${plugin} cannot say what expires, and is asked again: ${stackOf(error)}`
        log.error('notify.source_failed', message, { plugin })
      }
    }
    const rows = asked.map(plugin => ({ plugin, reportedUntil: now }))
    if (rows.length > 0) await store.change(em => em.upsertMany(NotifyExpiry, rows))
  }

  async function reportOf(source: ExpirySource, span: { since: number; now: number }): Promise<void> {
    for await (const page of expiryNotices(source, { ...span, read: store.read }))
      if (page.length > 0)
        await store.change(async em => {
          for (const notice of page) await objects.raise(toEvent(notice, span.now), em)
        })
  }

  return { report }
}

/** Reported once, also if a later page of the source fails again and again. */
const toEvent = ({ object, name, owner, expiresAt, noticeMs }: ExpiryNotice, now: number) => ({
  kind,
  quietMs: expiresAt - now,
  object: `${object} ${expiresAt} ${noticeMs / dayMs}`,
  name: `${name} (${timestamp(expiresAt).slice(0, 16)}Z)`,
  owner
})
