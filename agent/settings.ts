import type { State } from './state.ts'

/** What the server said of all rules, kept for a start without it. */
export interface Values {
  readonly drainMs: number
  readonly tcpIdleMs: number
}

export interface Settings {
  current(): Values
  save(values: Values): void
}

const defaults: Values = { drainMs: 30_000, tcpIdleMs: 0 }

export function openSettings(db: State): Settings {
  db.exec('create table if not exists rule_setting (name text primary key, ms integer not null) strict')
  const rows = db.prepare<[], { name: string; ms: number }>('select name, ms from rule_setting').all()
  const put = db.prepare('insert or replace into rule_setting values (?, ?)')
  let current = { ...defaults, ...Object.fromEntries(rows.map(({ name, ms }) => [name, ms])) }

  return {
    current: () => current,
    save({ drainMs, tcpIdleMs }) {
      current = { drainMs, tcpIdleMs }
      db.transaction(() => Object.entries(current).map(([name, ms]) => put.run(name, ms)))()
    }
  }
}
