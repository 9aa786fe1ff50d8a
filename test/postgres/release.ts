// A server of another release. The environment sets its version, its migrations of the plugin acme, and its keys.
import { once } from 'node:events'
import { Migration } from '@mikro-orm/migrations'
import { plugins as builtin } from '../../config/plugins.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { boot } from '../../kernel/kernel.ts'
import { openLog } from '../../kernel/platform/log.ts'
import { definePlugin } from '../../kernel/plugin.ts'

const environment = (name: string): string => process.env[name] ?? ''

const running = (sql: string) =>
  class extends Migration {
    override up(): void {
      this.addSql(sql)
    }
  }

const acme = definePlugin({
  name: 'acme',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { control: '^1.0.0' },
  store: {
    entities: [],
    migrations: [
      {
        name: '0001-note',
        class: running('create table "acme_note" ("id" int primary key, "old" text null)')
      },
      { name: '0002-new', class: running('alter table "acme_note" add column "new" text null') },
      { name: '0003-old', class: running('alter table "acme_note" drop column "old"'), closes: true as const }
    ].slice(0, Number(environment('TEST_MIGRATIONS')))
  }
})

const stopped = once(process, 'SIGTERM')
const log = await openLog({ level: 'info', format: 'json' })
const loaded = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
try {
  const server = await boot({
    plugins: [...loaded, acme],
    keys: JSON.parse(environment('TEST_KEYS')),
    sections: {},
    dataDir: environment('TEST_DATA'),
    version: environment('TEST_VERSION'),
    log
  })
  await stopped
  await server.stop()
  process.exit(0)
} catch (error) {
  if (!(error instanceof Fault)) throw error
  log.error(error.errorCode.code, error.message)
  process.exit(error.errorCode.exit)
}
