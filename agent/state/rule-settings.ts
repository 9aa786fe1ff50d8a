import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { RuleSettings } from '../plugin.ts'
import { openRetriedWrite } from './retried-write.ts'
import type { StateDatabase } from './state-database.ts'

const defaults: RuleSettings = { drainMs: 30_000, tcpIdleMs: 0, udpIdleMs: 60_000, udpFlowCap: 1024 }

/** The server's settings for all rules. They are saved, for a start without a connection. */
export interface RuleSettingsStore {
  current(): RuleSettings
  /** Changes the settings at once. A failed write is retried. */
  save(changed: Partial<RuleSettings>): void
  close(): void
}

interface Options {
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
}

export function openRuleSettings({ db, clock, log }: Options): RuleSettingsStore {
  db.exec('create table if not exists rule_setting (name text primary key, value integer not null) strict')
  const rows = db.prepare<[], { name: string; value: number }>('select name, value from rule_setting').all()
  const put = db.prepare('insert or replace into rule_setting values (?, ?)')
  let current: RuleSettings = {
    ...defaults,
    ...Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  }
  let unsaved: Partial<RuleSettings> = {}
  const write = openRetriedWrite(
    clock,
    () => {
      const changed = Object.entries(unsaved)
      if (changed.length === 0) return
      db.transaction(() => {
        for (const [name, value] of changed) put.run(name, value)
      })
      unsaved = {}
    },
    error => log.warn('agent.settings_not_written', `retried each second: ${String(error)}`)
  )

  return {
    current: () => current,
    save(changed) {
      current = { ...current, ...changed }
      unsaved = { ...unsaved, ...changed }
      write.run()
    },
    close: write.close
  }
}
