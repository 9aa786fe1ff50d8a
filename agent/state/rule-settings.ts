import type { RuleSettings } from '../plugin.ts'
import type { StateDatabase } from './state-database.ts'

const defaults: RuleSettings = { drainMs: 30_000, tcpIdleMs: 0, udpIdleMs: 60_000, udpFlowCap: 1024 }

/** The server's settings for all rules. They are saved, for a start without a connection. */
export interface RuleSettingsStore {
  current(): RuleSettings
  save(changed: Partial<RuleSettings>): void
}

export function openRuleSettings(db: StateDatabase): RuleSettingsStore {
  db.exec('create table if not exists rule_setting (name text primary key, value integer not null) strict')
  const rows = db.prepare<[], { name: string; value: number }>('select name, value from rule_setting').all()
  const put = db.prepare('insert or replace into rule_setting values (?, ?)')
  let current: RuleSettings = {
    ...defaults,
    ...Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  }

  return {
    current: () => current,
    save(changed) {
      current = { ...current, ...changed }
      db.transaction(() => {
        for (const [name, value] of Object.entries(changed)) put.run(name, value)
      })
    }
  }
}
