import type { RuleSettings } from '../plugin.ts'
import type { StateDatabase } from './state-database.ts'

const defaults: RuleSettings = { drainMs: 30_000, tcpIdleMs: 0, udpIdleMs: 60_000, udpFlowCap: 1024 }

export type RuleSettingsStore = ReturnType<typeof openRuleSettings>

/** Opens the settings that the server sends for all rules. They are saved for a start without a connection. */
export function openRuleSettings(db: StateDatabase) {
  db.exec('create table if not exists rule_setting (name text primary key, value integer not null) strict')
  const rows = db.prepare<[], { name: string; value: number }>('select name, value from rule_setting').all()
  const put = db.prepare('insert or replace into rule_setting values (?, ?)')
  let current: RuleSettings = {
    ...defaults,
    ...Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  }

  return {
    current: () => current,
    save(changed: Partial<RuleSettings>): void {
      current = { ...current, ...changed }
      db.transaction(() => {
        for (const [name, value] of Object.entries(changed)) put.run(name, value)
      })
    }
  }
}
