import type { EntityManager } from '@mikro-orm/sql'
import { latest } from '../../kernel/base/clock.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openRefusedRows, type RefusedRow, type Rules } from '../rules/exports.ts'
import type { Entry } from './entries.ts'
import type { keys } from './settings.ts'
import type { ReportedEntry } from './wire.ts'

const dayMs = 24 * 3_600_000

interface Services extends Pick<Kernel<typeof keys>, 'store' | 'clock' | 'log' | 'config'> {
  readonly rules: Pick<Rules, 'loadScopes'>
}

/** Stores the reported entries of the client's own rules. */
export type StoreReport = (
  peer: Pick<Peer, 'clientId' | 'change'>,
  entries: readonly ReportedEntry[]
) => Promise<void>

export function openReports(
  { clock, log, rules, config }: Services,
  add: (entry: Entry, em: EntityManager) => Promise<void>
): StoreReport {
  const logRefused = openRefusedRows({ clock, log })

  return async ({ clientId, change }, entries) => {
    const refused: RefusedRow[] = []
    const now = latest(clock)
    const oldest = now - config.journal_retention_days * dayMs
    await change(async em => {
      refused.length = 0 // a change may run again
      const ids = [...new Set(entries.map(({ rule_id }) => rule_id))]
      const known = await rules.loadScopes(ids, em)
      for (const entry of entries) {
        const { id, rule_id: rule, at_ms, kind, from, to, cause, target } = entry
        const owner = known.get(rule)?.clientId
        if (rule !== '' && owner === undefined) continue // the rule was deleted
        if (rule !== '' && owner !== clientId) refused.push({ report: 'journal', reason: 'rule', rule })
        else if (at_ms >= oldest)
          await add(
            {
              id,
              kind,
              ts: Math.min(at_ms, now),
              subject: rule === '' ? clientId : rule,
              from: toJson(from),
              to: toJson(to),
              cause: cause === '' ? null : cause,
              requestId: null,
              details: JSON.stringify(target === '' ? {} : { target })
            },
            em
          )
      }
    })
    logRefused(clientId, refused)
  }
}

const toJson = (text: string): string => JSON.stringify(text === '' ? null : text)
